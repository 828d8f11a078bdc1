import { open } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import type { AtomicStore, FillAnswer } from "percolatordb/store";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { contentsOf, longSiteOf, observersOf, partsOf, tables } from "./app.js";

type Fill = NonNullable<AtomicStore["fill"]>;

const site = longSiteOf(60);

/** Loads the long site into a folder whose store fills ranges through `change`. */
async function loaded(change: (fill: Fill) => Fill | undefined) {
  const folder = await temporaryFolder();
  const runs = { count: 0 };
  try {
    const store = await openLmdbStore(folder.path);
    const { atomic } = store;
    Object.assign(store, { atomic: { ...atomic, fill: change(atomic!.fill!) } });
    await using db = await open(store, { tables, observers: observersOf(runs) });
    const report = await db.load("first", partsOf(site));
    await db.drain();
    expect(runs.count).toBe(0);
    expect(await db.check()).toEqual([]);
    return { report, contents: await contentsOf(db) };
  } finally {
    await folder.remove();
  }
}

test("a load is the same however its batches reach the store", async () => {
  const fills: string[] = [];
  const expected = await loaded((fill) => async (batch, options) => {
    const answer = await fill(batch, options);
    fills.push(answer);
    return answer;
  });
  expect(fills.length).toBeGreaterThan(5);
  expect(new Set(fills)).toEqual(new Set(["applied"]));

  // A store without fills gets ordinary batches.
  expect(await loaded(() => undefined)).toEqual(expected);

  // Something is in the range: the batch's cells are put one by one.
  expect(await loaded(() => async () => "occupied")).toEqual(expected);

  // Answers are lost, before the cells are put or after.
  let calls = 0;
  const losing = await loaded((fill) => async (batch, options): Promise<FillAnswer> => {
    const call = calls++ % 3;
    if (call === 0) return "unknown";
    const answer = await fill(batch, options);
    return call === 1 ? "unknown" : answer;
  });
  expect(losing).toEqual(expected);
}, 60_000);
