import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadSource } from "./load/loader.js";
import { observers } from "./observers/index.js";
import { search } from "./search/search.js";
import { shards, tables } from "./tables.js";
import { crawlSource, page } from "./testing/site.js";
import { IndexWork } from "./work.js";

const [a, b] = ["https://example.org/a", "https://example.org/b"];
const site = crawlSource({ [a]: page("A", "walrus", { [b]: "otter" }), [b]: page("B", "badger") });

let db: Database;
let work: IndexWork;

beforeEach(async () => {
  db = await open("memory:", { tables, observers });
  work = new IndexWork(db, 8);
});

afterEach(async () => {
  await work.stop();
  await db.close();
});

async function find(query: string): Promise<string[]> {
  await using view = await db.snapshot();
  return (await search(view, query)).results.map(({ url }) => url);
}

async function isMerged(): Promise<boolean> {
  await using view = await db.snapshot();
  for await (const _ of view.scan(shards.pending)) return false;
  for await (const _ of view.scan(shards.statistics)) return true;
  return false;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

it("does what pages cause elsewhere, and merges, without being asked to", async () => {
  await loadSource(db, site);
  await until(isMerged);
  await until(async () => (await find("otter")).includes(b));
  await work.idle();
  expect(await find("otter")).toEqual([b, a]);
});

it("has everything done that is waited for, by several too", async () => {
  await loadSource(db, site);
  await Promise.all([work.idle(), work.idle()]);
  expect(await isMerged()).toBe(true);
  const due = [];
  for await (const each of db.pending()) due.push(each);
  expect(due).toEqual([]);
  await loadSource(db, crawlSource({ [a]: page("A", "weasel") }));
  await work.idle();
  expect(await isMerged()).toBe(true);
  expect(await find("weasel")).toEqual([a]);
  expect(await find("otter")).toEqual([]);
});

it("stops while it rests, and leaves what is due to the next", async () => {
  await loadSource(db, site);
  await work.stop();
  work = new IndexWork(db, 8);
  await work.idle();
  expect(await find("otter")).toEqual([b, a]);
});

it("is told to wait no longer", async () => {
  await loadSource(db, site);
  await expect(work.idle({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow();
  await work.idle();
  expect(await isMerged()).toBe(true);
});
