import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, expect, it } from "vitest";
import { observers } from "./observers/index.js";
import { countWaiting, maxCounted, noPressure, pressureOf } from "./pressure.js";
import { documents, shards, tables } from "./tables.js";

let db: Database;

beforeEach(async () => {
  db = await open("memory:", { tables, observers });
});

afterEach(() => db.close());

/** The factors by which successive rounds last longer, given the backlog at the start of each. */
function lasting(waiting: readonly number[]): number[] {
  let pressure = noPressure;
  return waiting.map((each) => {
    pressure = pressureOf(each, pressure);
    return pressure.longer;
  });
}

/** Adds one page to each shard, to be merged. */
async function addPages(round: number): Promise<void> {
  await db.transact((tx) => {
    for (let shard = 0; shard < 128; shard++) {
      tx.set(shards.waiting.at(`${round}`), `${shard}`, ["https://example.org/", null, null, 1]);
      tx.notify(shards.merge, `${shard}`);
    }
  });
}

it("a round lasts longer while the backlog grows, and then shorter", () => {
  expect(lasting([100, 200, 300, 400, 500, 400, 400, 0])).toEqual([1, 2, 4, 8, 8, 4, 2, 1]);
  expect(lasting([maxCounted, maxCounted, maxCounted])).toEqual([2, 4, 8]);
  expect(lasting([0, 100, 0, 100])).toEqual([1, 1, 1, 1]);
});

it("merge rounds last longer while the pages to merge increase, even if no more shards are due", async () => {
  const waiting: number[] = [];
  for (let round = 0; round < 4; round++) {
    await addPages(round);
    waiting.push(await countWaiting(db, "merge"));
  }
  expect(waiting).toEqual([128, 256, 384, 512]);
  expect(lasting(waiting)).toEqual([1, 2, 4, 8]);
});

it("counts the due changes of other observers, and shards without a page to merge", async () => {
  await db.transact((tx) => {
    tx.notify(shards.merge, "0");
    for (const url of ["https://example.org/a", "https://example.org/b"]) tx.notify(documents.relinked, url);
  });
  expect(await countWaiting(db, "merge")).toBe(1);
  expect(await countWaiting(db, "relink")).toBe(2);
});

it("counting can be aborted", async () => {
  await addPages(0);
  await expect(countWaiting(db, "merge", AbortSignal.abort(new Error("enough")))).rejects.toThrow();
});
