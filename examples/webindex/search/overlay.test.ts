import { type Change, type Database, open, type Snapshot, type Transaction } from "percolatordb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pageId, shardNames } from "../identity.js";
import { loadSource } from "../load/loader.js";
import { observers } from "../observers/index.js";
import { merge } from "../observers/merge.js";
import { shards, tables } from "../tables.js";
import { searchExhaustively } from "../testing/exhaustive.js";
import { type Crawl, crawlSource, page, seeded } from "../testing/site.js";
import { compareWithTwin } from "../twin/compare.js";
import { IndexCache } from "./index-cache.js";
import { Overlay } from "./overlay.js";
import { readStatistics, type SearchAnswer, search } from "./search.js";
import { SearchView } from "./view.js";
import { WaitingTerms } from "./waiting-terms.js";

const words = "ant bee cat dog eel fox 12 3 été".split(" ");
const queries = ["ant", "bee 12", "cat dog eel fox", "3 été", "same", "zebra"];
const pages = 12;
const urlOf = (index: number) => `https://example.org/${index}`;

type Random = (below: number) => number;

/** Adds, changes and removes pages. Several pages have the same text, and links lead everywhere. */
function someChanges(random: Random): Crawl {
  const word = () => words[random(words.length)]!;
  const said: Record<string, string | undefined> = {};
  for (let changes = random(6); changes >= 0; changes--) {
    const links = Object.fromEntries(Array.from({ length: random(3) }, () => [urlOf(random(pages)), word()]));
    const bodies = [
      undefined,
      page("Same", word()),
      page(word(), `${word()} ${word()} ${word()}`, links),
      "",
    ];
    said[urlOf(random(pages))] = bodies[random(bodies.length)];
  }
  return said;
}

interface Answers {
  readonly found: readonly SearchAnswer[];
  readonly statistics: unknown;
}

/** All answers of a search on one snapshot. */
async function answers(view: Snapshot, cache?: IndexCache): Promise<Answers> {
  const found = [];
  const read = await SearchView.read(view, cache);
  for (const query of queries) found.push(await search(read, query, { limit: 100 }));
  return { found, statistics: await readStatistics(view) };
}

/** Whether all answers are those of a search that scores every page. */
async function areExhaustive(view: Snapshot, { found }: Answers): Promise<boolean> {
  for (const [at, { results, total }] of found.entries()) {
    const all = await searchExhaustively(view, queries[at]!);
    const ours = results.map(({ url, score }) => ({ url, score }));
    if (total !== all.length || JSON.stringify(ours) !== JSON.stringify(all)) return false;
  }
  return true;
}

async function mergeAll(tx: Transaction): Promise<void> {
  for (const row of shardNames()) await merge.run(tx, { row } as unknown as Change);
}

/** The answers after every waiting page was merged. */
async function answersMerged(db: Database): Promise<Answers> {
  const tx = await db.begin();
  try {
    await mergeAll(tx);
    return await answers(tx as unknown as Snapshot);
  } finally {
    await tx.rollback();
  }
}

describe("a search while pages wait to be merged", () => {
  let db: Database;

  beforeEach(async () => {
    db = await open("memory:", { tables, observers });
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    await db.close();
  });

  /** Runs everything that is due for one observer, and nothing else. */
  async function work(observer: string): Promise<void> {
    await using worker = db.work({ observers: [observer] });
    await worker.idle();
  }

  async function waiting(): Promise<number> {
    await using view = await db.snapshot();
    let count = 0;
    for await (const { value } of view.scan(shards.waiting)) count += value.size;
    return count;
  }

  /**
   * Makes changes, steps of single observers and merges of single shards in random order. Returns
   * how often an answer differed from the answer after merging.
   */
  async function countWrong(seed: number, waitingBytes?: number): Promise<{ wrong: number; waited: number }> {
    const random = seeded(seed);
    const names = observers.map(({ name }) => name).filter((name) => name !== merge.name);
    // Kept from one moment to the next, as a server keeps it.
    const cache = new IndexCache(waitingBytes);
    let [wrong, waited] = [0, 0];
    for (let step = 0; step < 25; step++) {
      if (random(3) === 0) await loadSource(db, crawlSource(someChanges(random)));
      for (const name of names) if (random(2) === 0) await work(name);
      if (random(3) === 0) {
        const row = pageId(urlOf(random(pages))).shard;
        await db.transact((tx) => merge.run(tx, { row } as unknown as Change) as Promise<void>);
      }
      waited += await waiting();
      await using view = await db.snapshot();
      const [now, merged] = [await answers(view, cache), await answersMerged(db)];
      if (JSON.stringify(now) !== JSON.stringify(merged) || !(await areExhaustive(view, now))) wrong++;
    }
    await using worker = db.work();
    await worker.idle();
    return { wrong, waited };
  }

  it.each([
    { seed: 1 },
    { seed: 2 },
    { seed: 3 },
    { seed: 4, waitingBytes: 50 },
    { seed: 5, waitingBytes: 0 },
  ])(
    "gives the same answers as if all pages were merged, including scores and totals: $seed, $waitingBytes",
    async ({ seed, waitingBytes }) => {
      const { wrong, waited } = await countWrong(seed, waitingBytes);
      expect(wrong).toBe(0);
      expect(waited).toBeGreaterThan(25);
      // The final state equals the twin, whatever the order.
      await using view = await db.snapshot();
      for (const table of await compareWithTwin(view)) expect(table.differences).toEqual([]);
    },
  );

  describe("would give wrong answers", () => {
    it("if the postings of a waiting page counted too", async () => {
      vi.spyOn(Overlay.prototype, "hidden").mockReturnValue([]);
      expect((await countWrong(1)).wrong).toBeGreaterThan(0);
    });

    it("if a page seemed to lack a term that it has", async () => {
      vi.spyOn(WaitingTerms.prototype, "mayHave").mockImplementation((hash) => hash % 2 === 0);
      expect((await countWrong(1)).wrong).toBeGreaterThan(0);
    });

    it("if waiting pages were ignored", async () => {
      vi.spyOn(Overlay.prototype, "find").mockResolvedValue(undefined);
      expect((await countWrong(1)).wrong).toBeGreaterThan(0);
    });

    it("if the number and lengths of waiting pages did not count", async () => {
      vi.spyOn(Overlay.prototype, "statistics").mockImplementation((merged) => merged);
      expect((await countWrong(1)).wrong).toBeGreaterThan(0);
    });
  });

  it("distinguishes a page without terms from one that the postings do not have", async () => {
    await loadSource(db, crawlSource({ [urlOf(1)]: "" }));
    for (const name of ["extract", "cluster", "merge"]) await work(name);
    await loadSource(db, crawlSource({ [urlOf(1)]: page("", "ant"), [urlOf(2)]: page("", "bee") }));
    for (const name of ["extract", "cluster"]) await work(name);
    await using view = await db.snapshot();
    expect(await view.get(shards.waiting.at(pageId(urlOf(1)).text), pageId(urlOf(1)).shard)).toEqual([
      urlOf(1),
      [1, 0, 0],
      [0, 0, 0],
      expect.any(Number),
    ]);
    expect(await readStatistics(view)).toEqual({ pages: 2, lengths: [2, 0, 0] });
  });
});
