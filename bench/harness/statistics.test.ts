import { describe, expect, test } from "vitest";
import { quantile, ratios, summarize } from "./statistics.js";

describe("summarize", () => {
  test("gives the median and the quartiles, whatever the order", () => {
    expect(summarize([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 2, high: 4, count: 5 });
  });

  test("is between the two middle measurements if their number is even", () => {
    expect(summarize([10, 20, 30, 40])).toEqual({ median: 25, low: 17.5, high: 32.5, count: 4 });
  });

  test("does not modify its argument", () => {
    const measurements = [3, 1, 2];
    summarize(measurements);
    expect(measurements).toEqual([3, 1, 2]);
  });

  test("is zero for an empty list, and the value itself for a single one", () => {
    expect(summarize([])).toEqual({ median: 0, low: 0, high: 0, count: 0 });
    expect(summarize([7])).toEqual({ median: 7, low: 7, high: 7, count: 1 });
  });
});

test("a quantile is interpolated between neighbours", () => {
  expect(quantile([0, 10], 0.25)).toBe(2.5);
  expect(quantile([0, 10, 20], 1)).toBe(20);
  expect(quantile([0, 10, 20], 0)).toBe(0);
});

test("ratios are computed round by round", () => {
  expect(ratios([1, 6, 2], [2, 3, 8])).toEqual([0.5, 2, 0.25]);
});
