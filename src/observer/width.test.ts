import { describe, expect, it } from "vitest";
import { AdaptiveWidth, fixedWidth } from "./width.js";

/** Runs end while as many are under way as may be, unless told otherwise. */
function end(width: AdaptiveWidth, runs: number, conflictEvery: number, inFlight?: number): number {
  for (let run = 1; run <= runs; run++) width.ended(inFlight ?? width.limit, run % conflictEvery === 0);
  return width.limit;
}

describe("how many runs a worker has at the same time", () => {
  it("grows to a limit while all are in use and none conflicts", () => {
    const width = new AdaptiveWidth();
    expect(end(width, 127, 1_000)).toBe(64);
    expect(end(width, 1, 1_000)).toBe(96);
    expect(end(width, 100_000, 100_000_000)).toBe(512);
  });

  it("stays where fewer are in use", () => {
    expect(end(new AdaptiveWidth(), 10_000, 100_000, 20)).toBe(64);
  });

  it("stays where some conflict, and shrinks where many do, to what it began with", () => {
    const width = new AdaptiveWidth();
    end(width, 128 * 8, 100_000);
    expect(width.limit).toBe(320);
    expect(end(width, 128 * 4, 40)).toBe(320);
    expect(end(width, 128, 4)).toBe(160);
    expect(end(width, 128 * 10, 4)).toBe(64);
  });

  it("is what was asked for", () => {
    const width = fixedWidth(3);
    for (let run = 0; run < 1_000; run++) width.ended(3, false);
    expect(width.limit).toBe(3);
  });
});
