import { expect, test } from "vitest";
import { sourceOf } from "../webindex/sources.js";
import { page } from "../webindex/testing.js";
import { describeSearch, tooFewOf } from "./figure.js";
import { searchWhile } from "./measure.js";
import { firstPagesOf } from "./pages.js";

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
  expect(tooFewOf(result)).toEqual([]);
  expect(describeSearch(result).join()).not.toContain("too few");
  const lacking = { ...result, percolator: timesOf([99, ...all.slice(1)]) };
  expect(tooFewOf(lacking)).toEqual([{ query: 1, engine: "web index", total: 99, minisearch: 100 }]);
  expect(describeSearch(lacking).at(-1)).toMatch(
    /too few pages found \(1 of 1\)[\s\S]*\| 1 \| web index \| 99 \| 100 \|/,
  );
  const toldOf = (totals: readonly number[]) => tooFewOf({ ...result, postgres: timesOf(totals) });
  expect(toldOf([20, 80, 89, ...all.slice(3)]).map(({ query }) => query)).toEqual([1, 2, 3]);
  expect(toldOf(all.map(() => 0))).toHaveLength(40);
});

test("a page that another one repeats is left out, since only the web index shows one of both", async () => {
  const crawls = [
    [page("a", "one"), page("copy", "one")],
    [page("a", "two"), page("b", "one")],
  ];
  const sources = crawls.map((pages, at) => sourceOf(`crawl ${at}`, pages));
  const read = async (max: number) => (await firstPagesOf(sources, max)).map(({ url }) => url);
  expect(await read(10)).toEqual(["https://example.org/a", "https://crawl-2.example.org/a"]);
  expect(await read(1)).toEqual(["https://example.org/a"]);
});
