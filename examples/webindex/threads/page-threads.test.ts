import { existsSync } from "node:fs";
import { join } from "node:path";
import { open } from "percolatordb";
import { expect, test } from "vitest";
import { loadSource } from "../load/loader.js";
import { observersWith } from "../observers/index.js";
import { Scratch } from "../sources/testing/files.js";
import { documents, tables } from "../tables.js";
import { type Crawl, crawl, crawlSource, page, seeded } from "../testing/site.js";
import { compareWithTwin } from "../twin/compare.js";
import { WebIndex } from "../webindex.js";
import { PageThreads } from "./page-threads.js";

const site = "https://example.org/";

/** A site whose pages link to each other. Some have equal contents, and some are gone. */
function randomCrawl(seed: number): Crawl {
  const below = seeded(seed);
  const pages: Record<string, string | undefined> = {};
  for (let count = 0; count < 40; count++) {
    const links = Object.fromEntries(
      Array.from({ length: below(5) }, () => [`${site}${below(30)}`, `anchor ${below(9)}`]),
    );
    const url = `${site}${below(30)}`;
    pages[url] = below(8) === 0 ? undefined : page(`Title ${below(9)}`, `walrus ${below(20)}`, links);
  }
  return pages;
}

test("pages that threads read are indexed as the twin indexes them, crawl after crawl", async () => {
  await using index = await WebIndex.open("memory:", { threads: 2 });
  for (const seed of [1, 2, 3]) await crawl(index, randomCrawl(seed));
  expect((await index.count()).live).toBeGreaterThan(10);
});

test("threads get only a few pages at a time", async () => {
  await using threads = new PageThreads({ threads: 2, onError: () => {} });
  // Two threads, and four pages that they read or that wait for each.
  expect(threads.extract.concurrency).toBe(8);
});

test("a thread that ends fails one run, and the index is right when that was tried again", async () => {
  await using folder = await Scratch.make();
  const marker = join(folder.path, "marker");
  const ended: Error[] = [];
  const module = new URL("./testing/faulty-page.ts", import.meta.url);
  await using threads = new PageThreads({ threads: 2, module, onError: (error) => ended.push(error) });
  await using db = await open("memory:", { tables, observers: observersWith(threads.extract) });
  const pages = { ...randomCrawl(4), [`${site}bad`]: page("Bad", `exits unless there is ${marker} `) };
  await loadSource(db, crawlSource(pages));
  await db.drain();
  expect(existsSync(marker)).toBe(true);
  expect(db.metrics.observers.extract?.runs).toMatchObject({ failed: 1, parked: 0 });
  await using view = await db.snapshot();
  expect(await view.get(documents.title, `${site}bad`)).toBe("Bad");
  for (const { different } of await compareWithTwin(view)) expect(different).toBe(0);
  expect(ended).toEqual([]);
});
