import { expect, test } from "vitest";
import { elapsedMs, longAgo } from "./clocks.js";

test("the clock on which more time passed counts", () => {
  const from = { monotonic: 5, wall: 1_000 };
  const elapsed = (monotonic: number, wall: number) => elapsedMs(from, { monotonic, wall });
  expect([elapsed(15, 1_010), elapsed(15, 9_000), elapsed(15, 0), elapsed(15, Number.NaN)]).toEqual([
    10, 8_000, 10, 10,
  ]);
  expect(elapsedMs(longAgo, from)).toBe(Number.POSITIVE_INFINITY);
});
