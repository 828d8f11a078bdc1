import { SeededRandom } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { Durations, exponential, zipf } from "./distributions.js";
import { EventLoop } from "./event-loop.js";
import { Station } from "./station.js";

describe("what happens when", () => {
  test("in the order of time, and of planning at one moment", () => {
    const loop = new EventLoop();
    const random = new SeededRandom("order");
    const planned = Array.from({ length: 2_000 }, (_, index) => ({ at: random.below(200), index }));
    const happened: { at: number; index: number }[] = [];
    for (const each of planned) loop.at(each.at, () => happened.push(each));
    loop.runUntil(1_000);
    expect(happened).toEqual([...planned].sort((a, b) => a.at - b.at || a.index - b.index));
    expect(loop.now).toBe(1_000);
  });

  test("what is planned meanwhile takes its place, what lies behind is refused", () => {
    const loop = new EventLoop();
    const seen: number[] = [];
    loop.at(10, () => {
      loop.after(5, () => seen.push(loop.now));
      expect(() => loop.at(9, () => {})).toThrow(RangeError);
      expect(() => loop.at(Number.NaN, () => {})).toThrow(RangeError);
    });
    loop.at(12, () => seen.push(loop.now));
    loop.runUntil(14);
    expect(seen).toEqual([12]);
    loop.runUntil(15);
    expect(seen).toEqual([12, 15]);
  });
});

/** Mean time in a server with Poisson arrivals, over so many customers. */
function meanTime(use: number, service: (random: SeededRandom) => number, customers = 400_000): number {
  const random = new SeededRandom(`queue ${use}`);
  const station = new Station("queue");
  let arrival = 0;
  let total = 0;
  for (let customer = 0; customer < customers; customer++) {
    arrival += exponential(random, 1 / use);
    total += station.serve(arrival, service(random)) - arrival;
  }
  return total / customers;
}

describe("a server with a queue", () => {
  test.each([0.3, 0.5, 0.7, 0.8])("M/M/1 at %f: 1 / (1 - use) on average", (use) => {
    const mean = meanTime(use, (random) => exponential(random, 1));
    expect(mean * (1 - use)).toBeGreaterThan(0.96);
    expect(mean * (1 - use)).toBeLessThan(1.04);
  });

  test.each([0.5, 0.8])("M/D/1 at %f: half the wait", (use) => {
    const expected = 1 + use / (2 * (1 - use));
    expect(meanTime(use, () => 1) / expected).toBeCloseTo(1, 1);
  });

  test("its utilisation counts what was done from a moment to another", () => {
    const station = new Station("server");
    station.serve(0, 10);
    station.countFrom(4);
    expect(station.utilisation(10)).toBe(1);
    expect(station.utilisation(16)).toBe(0.5);
    station.serve(16, 4);
    // 6 of 12, then 6 + 2 of 14.
    expect(station.utilisation(18)).toBeCloseTo(8 / 14);
    expect(station.utilisation(20)).toBeCloseTo(10 / 16);
    expect(station.waitAt(18)).toBe(2);
  });
});

describe("what is drawn", () => {
  test("ranks by Zipf's law", () => {
    const random = new SeededRandom("zipf");
    const draw = zipf(5_000, 0.9);
    const counts = new Map<number, number>();
    for (let drawn = 0; drawn < 200_000; drawn++) {
      const rank = draw(random);
      counts.set(rank, (counts.get(rank) ?? 0) + 1);
    }
    expect([...counts.keys()].every((rank) => Number.isInteger(rank) && rank >= 0 && rank < 5_000)).toBe(
      true,
    );
    let sum = 0;
    for (let rank = 1; rank <= 5_000; rank++) sum += rank ** -0.9;
    for (const rank of [0, 1, 9]) {
      const expected = (200_000 * (rank + 1) ** -0.9) / sum;
      expect(Math.abs(counts.get(rank)! - expected)).toBeLessThan(5 * Math.sqrt(expected));
    }
    const inTail = [...counts].filter(([rank]) => rank >= 1_000).reduce((all, [, count]) => all + count, 0);
    let tail = 0;
    for (let rank = 1_001; rank <= 5_000; rank++) tail += rank ** -0.9;
    expect(inTail / 200_000 / (tail / sum)).toBeCloseTo(1, 1);
  });

  test("durations, with their quantiles", () => {
    const durations = new Durations();
    for (let ms = 1; ms <= 1_000; ms++) durations.add(ms);
    expect(durations.quantile(0.5) / 500).toBeCloseTo(1, 1);
    expect(durations.quantile(0.99) / 990).toBeCloseTo(1, 1);
    expect(durations.mean).toBe(500.5);
    durations.clear();
    expect(durations.quantile(0.5)).toBe(0);
  });
});
