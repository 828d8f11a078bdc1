import { describe, expect, it } from "vitest";
import { AdaptiveConcurrency, fixedConcurrency } from "./concurrency.js";

/** Ends `runs` runs, every `conflictEvery`th with a conflict. By default as many run as may. */
function end(width: AdaptiveConcurrency, runs: number, conflictEvery: number, isFull = true): number {
  for (let run = 1; run <= runs; run++) width.ended(isFull, run % conflictEvery === 0);
  return width.limit;
}

describe("the number of concurrent runs of an observer", () => {
  it("grows to a limit while all are in use and none conflicts", () => {
    const width = new AdaptiveConcurrency(true);
    expect(end(width, 127, 1_000)).toBe(64);
    expect(end(width, 1, 1_000)).toBe(96);
    expect(end(width, 100_000, 100_000_000)).toBe(512);
  });

  it("stays if fewer are in use, or if the store's commits share no flush", () => {
    expect(end(new AdaptiveConcurrency(true), 10_000, 100_000, false)).toBe(64);
    expect(end(new AdaptiveConcurrency(false), 10_000, 100_000)).toBe(64);
  });

  it("stays while some runs conflict, and shrinks to a few while many do", () => {
    const width = new AdaptiveConcurrency(true);
    end(width, 128 + 192 + 256 + 320 + 384 + 448 + 512 + 576, 100_000);
    expect(width.limit).toBe(320);
    expect(end(width, 640 * 4, 40)).toBe(320);
    expect(end(width, 640, 4)).toBe(160);
    expect(end(width, 320 + 160, 4)).toBe(40);
    expect(end(width, 10_000, 4)).toBe(8);
  });

  it("grows back when conflicts end, on every store", () => {
    const width = new AdaptiveConcurrency(false);
    expect(end(width, 128 + 64 + 32 * 300, 2)).toBe(8);
    expect(end(width, 32, 1_000)).toBe(16);
    expect(end(width, 1_000, 100_000)).toBe(64);
  });

  it("is fixed if the program sets it", () => {
    const width = fixedConcurrency(3);
    for (let run = 0; run < 1_000; run++) width.ended(true, run % 2 === 0);
    expect(width.limit).toBe(3);
  });
});
