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

/** How many times as long rounds last one after the other, given what waits at each. */
function lasting(waiting: readonly number[]): number[] {
  let pressure = noPressure;
  return waiting.map((each) => {
    pressure = pressureOf(each, pressure);
    return pressure.longer;
  });
}

/** One more page of each shard waits to be merged. */
async function addPages(round: number): Promise<void> {
  await db.transact((tx) => {
    for (let shard = 0; shard < 128; shard++) {
      tx.set(shards.pending.at(`${round}`), `${shard}`, ["https://example.org/", "", null, null]);
      tx.notify(shards.merge, `${shard}`);
    }
  });
}

it("lasts ever longer while ever more waits, and then less", () => {
  expect(lasting([100, 200, 300, 400, 500, 400, 400, 0])).toEqual([1, 2, 4, 8, 8, 4, 2, 1]);
  expect(lasting([maxCounted, maxCounted, maxCounted])).toEqual([2, 4, 8]);
  expect(lasting([0, 100, 0, 100])).toEqual([1, 1, 1, 1]);
});

it("merges longer while ever more pages wait, though no more shards are due", async () => {
  const waiting: number[] = [];
  for (let round = 0; round < 4; round++) {
    await addPages(round);
    waiting.push(await countWaiting(db, "merge"));
  }
  expect(waiting).toEqual([128, 256, 384, 512]);
  expect(lasting(waiting)).toEqual([1, 2, 4, 8]);
});

it("counts what is due of the others, and shards of which no page waits", async () => {
  await db.transact((tx) => {
    tx.notify(shards.merge, "0");
    for (const url of ["https://example.org/a", "https://example.org/b"]) tx.notify(documents.relinked, url);
  });
  expect(await countWaiting(db, "merge")).toBe(1);
  expect(await countWaiting(db, "relink")).toBe(2);
});

it("is told to count no longer", async () => {
  await addPages(0);
  await expect(countWaiting(db, "merge", AbortSignal.abort(new Error("enough")))).rejects.toThrow();
});
