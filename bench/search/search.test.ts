import { expect, test } from "vitest";
import { wrongOf } from "./figure.js";
import { searchWhile } from "./measure.js";

test("a search's time includes its wait for the main thread", async () => {
  const busyMs = 100;
  const restMs = 10;
  let searches = 0;
  const times = await searchWhile(
    () => searches === 2,
    restMs,
    async () => {
      if (++searches > 1) return;
      // Before the second search is due, something else takes the main thread.
      setTimeout(() => {
        const until = performance.now() + busyMs;
        while (performance.now() < until);
      }, restMs / 2);
    },
  );
  expect(times[1]).toBeGreaterThan(busyMs - 2 * restMs);
});

test("an engine that finds too few pages fails the measurement", () => {
  const timesOf = (totals: readonly number[]) => ({ p50: 1, p95: 2, perSecond: 3, cpuMs: 4, totals });
  const all = Array.from({ length: 40 }, () => 100);
  const result = {
    pages: 100,
    atOnce: 20,
    percolator: timesOf(all),
    minisearch: timesOf(all),
    postgres: timesOf([20, 80, ...all.slice(2)]),
    loading: { p50: 1, p95: 2, searches: 3, aloneRate: 4, searchedRate: 5 },
  };
  expect(wrongOf(result)).toBe(0);
  expect(wrongOf({ ...result, percolator: timesOf([99, ...all.slice(1)]) })).toBe(1);
  expect(wrongOf({ ...result, postgres: timesOf([20, 80, 89, ...all.slice(3)]) })).toBe(3);
  expect(wrongOf({ ...result, postgres: timesOf(all.map(() => 0)) })).toBe(40);
});
