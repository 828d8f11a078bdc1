import { describe, expect, test } from "vitest";
import { addHistograms, DurationWindow, durationsOf } from "./histogram.js";

const minute = 60_000;

describe("durations of the last minutes", () => {
  test("give percentiles that are accurate to about 7 %", () => {
    const window = new DurationWindow(5 * minute);
    for (let ms = 1; ms <= 1_000; ms++) window.add(0, ms);
    const { count, p50Ms, p99Ms } = durationsOf(window.histogram(0));
    expect(count).toBe(1_000);
    expect(p50Ms! / 500).toBeGreaterThan(0.93);
    expect(p50Ms! / 500).toBeLessThan(1.07);
    expect(p99Ms! / 990).toBeGreaterThan(0.93);
    expect(p99Ms! / 990).toBeLessThan(1.07);
  });

  test("accept the shortest and the longest", () => {
    const window = new DurationWindow(5 * minute);
    window.add(0, 0);
    window.add(0, 1e12);
    const { p50Ms, p99Ms } = durationsOf(window.histogram(0));
    expect(p50Ms).toBeLessThan(0.06);
    expect(p99Ms).toBeGreaterThan(3_600_000);
  });

  test("are forgotten after the window, even if nothing was added in between", () => {
    const window = new DurationWindow(5 * minute);
    window.add(0, 1);
    window.add(4 * minute, 2);
    expect(durationsOf(window.histogram(4 * minute)).count).toBe(2);
    expect(durationsOf(window.histogram(6 * minute)).count).toBe(1);
    expect(durationsOf(window.histogram(60 * minute))).toEqual({
      count: 0,
      p50Ms: undefined,
      p99Ms: undefined,
    });
    window.add(60 * minute, 3);
    expect(durationsOf(window.histogram(60 * minute)).count).toBe(1);
  });

  test("of several processes are added", () => {
    const [one, other] = [new DurationWindow(minute), new DurationWindow(minute)];
    for (let each = 0; each < 99; each++) one.add(0, 10);
    other.add(0, 1_000);
    const { count, p50Ms, p99Ms } = durationsOf(addHistograms([one.histogram(0), other.histogram(0)]));
    expect(count).toBe(100);
    expect(p50Ms).toBeLessThan(11);
    expect(p99Ms).toBeLessThan(11);
  });
});
