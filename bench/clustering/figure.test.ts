import { describe, expect, test } from "vitest";
import { batchDelay, crossoverOf, type RateFigure } from "./figure.js";

const rate = (percent: number, p50: number): RateFigure => ({
  percent,
  perSecond: percent,
  loaded: 10,
  late: 0,
  p5: p50 / 2,
  p50,
  p95: p50 * 2,
});

test("a document waits for the rest of the running batch, and for the whole next one", () => {
  expect([0, 0.5, 1].map((part) => batchDelay(200, part))).toEqual([200, 300, 400]);
});

describe("crossoverOf", () => {
  // With batches of 100 ms a document waits 150 ms in the median.
  const batchMs = 100;

  test("is the point between two rates at which the delay crosses that of batches", () => {
    const rates = [rate(1, 2), rate(10, 100), rate(20, 300), rate(40, 900)];
    expect(crossoverOf({ rates, batchMs })).toBe(12.5);
    expect(crossoverOf({ rates: [rate(10, 50), rate(50, 450)], batchMs })).toBe(20);
  });

  test("is the first rate if that is already slower", () => {
    expect(crossoverOf({ rates: [rate(1, 151), rate(10, 200)], batchMs })).toBe(1);
  });

  test("is undefined if no rate is slower than batches", () => {
    expect(crossoverOf({ rates: [rate(1, 149), rate(100, 150)], batchMs })).toBeUndefined();
    expect(crossoverOf({ rates: [], batchMs })).toBeUndefined();
  });
});
