import { expect, test } from "vitest";
import { type BloatSample, bloatOf, isFlat } from "./verdict.js";

const page = 8_192;
const table = (bytes: number) => ({ bytes, indexBytes: 0, dead: 0, vacuums: 0 });

function samplesOf(sizes: readonly number[], state = page): readonly BloatSample[] {
  return sizes.map((pages, index) => ({
    at: 10 * (index + 1),
    updates: 2_000 * (index + 1),
    tables: { cells: table(pages * page), state: table(state) },
  }));
}

test("a table that reaches its size in the first half is flat", () => {
  const found = bloatOf(samplesOf([100, 400, 900, 1_000, 1_000, 1_050, 1_000, 1_060]));
  expect(found).toMatchObject({ perSecond: 200, before: 1_000 * page, after: 1_060 * page });
  expect(found.growth).toBeCloseTo(0.06);
  expect(isFlat(found)).toBe(true);
});

test("a table that grows on and on is not", () => {
  const found = bloatOf(samplesOf([100, 200, 300, 400, 500, 600, 700, 800]));
  expect(found.growth).toBe(1);
  expect(isFlat(found)).toBe(false);
});

test("a peak in the second half counts, although its space is free again in the end", () => {
  expect(isFlat(bloatOf(samplesOf([1_000, 1_000, 1_000, 1_000, 1_200, 1_000])))).toBe(false);
});

test("a row of the database that leaves its dead versions behind is bloat too", () => {
  const found = bloatOf(samplesOf([1_000, 1_000, 1_000, 1_000], 2 * 2 ** 20));
  expect(found.small).toEqual({ state: 2 * 2 ** 20 });
  expect(isFlat(found)).toBe(false);
});
