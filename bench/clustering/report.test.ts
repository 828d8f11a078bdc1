import { describe, expect, test } from "vitest";
import {
  batchDelay,
  crossoverOf,
  describeMeasured,
  isRight,
  type Measured,
  type RateFigure,
} from "./report.js";

const rate = (percent: number, p50: number): RateFigure => ({
  percent,
  perSecond: percent,
  loaded: 10,
  late: 0,
  p5: p50 / 2,
  p50,
  p95: p50 * 2,
});

test("a document waits for the rest of the batch that runs, and for the whole of the next", () => {
  expect([0, 0.5, 1].map((part) => batchDelay(200, part))).toEqual([200, 300, 400]);
});

describe("crossoverOf", () => {
  // A document waits 150 ms for batches of 100 ms, in the median.
  const batchMs = 100;

  test("is where the line between two rates crosses what a document waits for batches", () => {
    const rates = [rate(1, 2), rate(10, 100), rate(20, 300), rate(40, 900)];
    expect(crossoverOf({ rates, batchMs })).toBe(12.5);
    expect(crossoverOf({ rates: [rate(10, 50), rate(50, 450)], batchMs })).toBe(20);
  });

  test("is the first rate where that is slower already", () => {
    expect(crossoverOf({ rates: [rate(1, 151), rate(10, 200)], batchMs })).toBe(1);
  });

  test("is nowhere where no rate is slower than batches", () => {
    expect(crossoverOf({ rates: [rate(1, 149), rate(100, 150)], batchMs })).toBeUndefined();
    expect(crossoverOf({ rates: [], batchMs })).toBeUndefined();
  });
});

const measured = (wrong: number): Measured => ({
  documents: 10_000,
  fillPerSecond: 9_000,
  barePerSecond: 12_000,
  batches: [
    {
      place: "bare LMDB",
      batchMs: 100,
      batchRunsMs: [90, 100, 110],
      hourSeconds: 0.3,
      rates: [rate(10, 50)],
      crossover: undefined,
    },
  ],
  wrong,
});

test("one repository that came out wrong makes the whole measurement fail", () => {
  expect(isRight([measured(0), measured(0)])).toBe(true);
  expect(isRight([measured(0), measured(1)])).toBe(false);
});

test("a report names what is wrong, and how much sooner documents are clustered than by batches", () => {
  const words = describeMeasured(measured(7));
  expect(words).toContain("7 documents and clusters wrong");
  expect(words).toContain("a document waits 105.0 ms, 150.0 ms, 195.0 ms (p5, p50, p95) for it");
  expect(words).toContain("3.0 times sooner");
  expect(words).toContain("crossover: above all of these");
});
