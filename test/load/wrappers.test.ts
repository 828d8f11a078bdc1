import { type Environment, open } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import type { RowStore } from "percolatordb/store";
import { type Network, ProcessStore, TestClock, WatchedStore } from "percolatordb/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DistantStore } from "../../src/testing/world/index.js";
import { JoiningStore } from "../../src/transaction/wire/joined-mutations.js";
import { PassingStore } from "../../src/transaction/wire/passing-store.js";
import { temporaryFolder } from "../support/databases.js";
import { contentsOf, longSiteOf, observersOf, partsOf, tables } from "./app.js";

const site = longSiteOf(20);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let store: RowStore;
/** The fills that reached the folder. */
let fills: number;

beforeEach(async () => {
  folder = await temporaryFolder();
  store = await openLmdbStore(folder.path);
  fills = 0;
  const { atomic } = store;
  const fill: NonNullable<typeof atomic>["fill"] = (batch, options) => {
    fills++;
    return atomic!.fill!(batch, options);
  };
  Object.assign(store, { atomic: { ...atomic, fill } });
});

afterEach(async () => {
  await store.close();
  await folder.remove();
});

/** Loads the site through a store that wraps the folder's. Returns the contents. */
async function load(wrapped: RowStore, environment?: Environment): Promise<unknown> {
  const db = await open(wrapped, { tables, observers: observersOf({ count: 0 }), environment });
  try {
    expect(await db.load("first", partsOf(site))).toMatchObject({ published: true });
    expect(await db.check()).toEqual([]);
    return await contentsOf(db);
  } finally {
    await db.close();
  }
}

async function expected(): Promise<unknown> {
  await using db = await open("memory:", { tables, observers: observersOf({ count: 0 }) });
  await db.load("first", partsOf(site));
  return await contentsOf(db);
}

const atOnce: Network = { send: async ({ apply }) => apply() };

test("a store that passes every call on passes fills on", async () => {
  expect(await load(new PassingStore(store))).toEqual(await expected());
  expect(fills).toBeGreaterThan(2);
});

test("a store that joins mutations passes fills on", async () => {
  expect(await load(new JoiningStore(store))).toEqual(await expected());
  expect(fills).toBeGreaterThan(2);
});

test("a store behind a network sends fills as requests", async () => {
  const sent: string[] = [];
  const network: Network = {
    send: (request) => {
      sent.push(request.describe().slice(0, 5));
      return atOnce.send(request);
    },
  };
  expect(await load(new DistantStore({ store, network }))).toEqual(await expected());
  expect(fills).toBeGreaterThan(2);
  expect(sent.filter((each) => each === "fill:").length).toBe(fills);
});

test("a watched store reports the cells that were filled", async () => {
  const watched = new WatchedStore(store);
  const cells: number[] = [];
  watched.watch({
    applied: (rows, commit) => {
      if (rows[0]!.table === "documents") {
        expect(commit).toBeUndefined();
        cells.push(rows.reduce((sum, { mutations }) => sum + mutations.length, 0));
      }
    },
  });
  expect(await load(watched)).toEqual(await expected());
  expect(fills).toBeGreaterThan(2);
  // Of each document: its text, its hash and a link, and the acknowledgments of two observers.
  expect(cells.reduce((sum, count) => sum + count, 0)).toBe(5 * site.size);
});

test("a process's store, which has no fills, gets ordinary batches", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const loaded = load(new ProcessStore(store, environment), environment);
  expect(await clock.until(loaded)).toEqual(await expected());
  expect(fills).toBe(0);
});
