import { expect, test } from "vitest";
import { Growth } from "./growth.js";

function grown(counts: readonly number[], everyMs: number, isBound = false): number | undefined {
  const growth = new Growth();
  for (const [index, count] of counts.entries()) {
    growth.add(index * everyMs, new Map([["a", { count, isBound }]]));
  }
  return growth.of("a");
}

test("a backlog's growth is that of its best line, in changes a second", () => {
  expect(grown([0, 14, 28, 42, 56, 70], 1_000)).toBeCloseTo(14);
  expect(grown([900, 700, 500], 10_000)).toBeCloseTo(-20);
  expect(grown([5, 5, 5, 5, 5, 5], 1_000)).toBe(0);
  expect(Math.abs(grown([4, 6, 4, 6, 4, 6, 4, 6], 1_000)!)).toBeLessThan(0.3);
});

test("only the last minute counts", () => {
  const counts = [
    ...Array.from({ length: 60 }, (_, index) => index * 100),
    ...new Array<number>(62).fill(6_000),
  ];
  expect(grown(counts, 1_000)).toBe(0);
});

test("without enough counts, or with a count that stopped at its bound, it is unknown", () => {
  expect(grown([1], 1_000)).toBeUndefined();
  expect(grown([1, 2, 3], 1_000)).toBeUndefined();
  expect(grown([10_000, 10_000, 10_000], 10_000, true)).toBeUndefined();
  expect(new Growth().of("a")).toBeUndefined();
});
