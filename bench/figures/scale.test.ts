import { describe, expect, test } from "vitest";
import { scaleOf } from "./scale.js";

const linearScale = (values: readonly number[], isTight?: boolean) => scaleOf("linear", values, isTight);
const logScale = (values: readonly number[]) => scaleOf("log", values);

describe("a linear scale", () => {
  test.each([
    { values: [3, 8], ticks: [0, 2, 4, 6, 8] },
    { values: [0.23, 0.94, 1], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] },
    { values: [31], ticks: [0, 10, 20, 30, 40] },
    { values: [1_234_567], ticks: [0, 500_000, 1_000_000, 1_500_000] },
    { values: [], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] },
    { values: [0], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] },
  ])("has ticks at $ticks for $values", ({ values, ticks }) => {
    const scale = linearScale(values);
    expect(scale.ticks).toEqual(ticks);
    expect(scale.part(ticks.at(-1)!)).toBe(1);
  });

  test("that is tight ends at the last value, with ticks below it", () => {
    const scale = linearScale([62], true);
    expect(scale.ticks).toEqual([0, 20, 40, 60]);
    expect(scale.part(31)).toBe(0.5);
  });

  test("places values in proportion, and values beyond it on the edge", () => {
    const scale = linearScale([100]);
    expect([-5, 0, 25, 100, 120].map((value) => scale.part(value))).toEqual([0, 0, 0.25, 1, 1]);
  });

  test("ignores values that are not numbers", () => {
    expect(linearScale([Number.NaN, Number.POSITIVE_INFINITY, 10]).ticks.at(-1)).toBe(10);
  });
});

describe("a logarithmic scale", () => {
  test.each([
    { values: [0.1, 100], ticks: [0.1, 1, 10, 100] },
    { values: [3, 40_000], ticks: [1, 10, 100, 1_000, 10_000, 100_000] },
    { values: [30, 90], ticks: [20, 50, 100] },
    { values: [7], ticks: [5, 10] },
    { values: [10], ticks: [10, 20] },
    { values: [], ticks: [1, 2, 5, 10] },
  ])("has ticks at $ticks for $values", ({ values, ticks }) => {
    const scale = logScale(values);
    expect(scale.ticks).toEqual(ticks);
    expect([scale.part(ticks[0]!), scale.part(ticks.at(-1)!)]).toEqual([0, 1]);
  });

  test("places values by their logarithms, and values without one at the beginning", () => {
    const scale = logScale([1, 10_000]);
    expect([1, 10, 1_000, 10_000, 0, -1].map((value) => scale.part(value))).toEqual([0, 0.25, 0.75, 1, 0, 0]);
  });

  test("leaves ticks out if there are many powers", () => {
    const { ticks } = logScale([1e-6, 1e9]);
    expect(ticks.length).toBeLessThan(10);
    expect(ticks[0]).toBe(1e-6);
  });
});
