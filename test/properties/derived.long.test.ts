import { type Database, open } from "percolatordb";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { RandomShop } from "../support/derived/changes.js";
import { actualOf, derivations, expectedOf, shop } from "../support/derived/shop.js";
import { ProgramProcess } from "../support/program-process.js";

/**
 * Random inserts, updates and deletes of orders and customers, as many as `DERIVED_OPERATIONS` says,
 * half of them in memory and half in a folder. There, three processes run the observers, and one of
 * them is killed again and again. Every derived table equals a recomputation in plain JavaScript
 * each time.
 */

const operations = Number(process.env.DERIVED_OPERATIONS ?? 20_000) / 2;
const rounds = 20;
const hours = 3_600_000;

async function isEqual(db: Database, random: RandomShop): Promise<void> {
  await using snapshot = await db.snapshot();
  expect(await actualOf(snapshot)).toEqual(expectedOf(random.orders, random.customers));
  for (const derivation of derivations) expect(await derivation.compare(snapshot)).toEqual([]);
}

describe(`${2 * operations} changes`, () => {
  test(
    "in memory, with two workers",
    async () => {
      await using db = await open("memory:", { ...shop, retentionMs: 1_000 });
      await using _one = db.work();
      await using _other = db.work();
      const random = new RandomShop(1, 600);
      for (let round = 0; round < rounds; round++) {
        await random.change(db, operations / rounds, 200);
        await db.drain();
        await isEqual(db, random);
      }
      expect(await db.check()).toEqual([]);
    },
    4 * hours,
  );

  test(
    "in a folder, with a worker of this process and two others, one of which is killed in each round",
    async () => {
      const folder = await temporaryFolder();
      const command = ["worker", folder.path, "test/support/derived/app.ts"];
      const workers: ProgramProcess[] = [];
      try {
        await using db = await open(folder.path, { ...shop, retentionMs: 10_000 });
        await using _worker = db.work();
        const random = new RandomShop(2, 600);
        for (let round = 0; round < rounds; round++) {
          while (workers.length < 2) workers.push(new ProgramProcess("src/cli/main.ts", command));
          const half = operations / rounds / 2;
          await random.change(db, half, 200);
          const killed = workers.shift()!;
          await killed.said((line) => line.includes("running"));
          await killed.kill();
          await random.change(db, half, 200);
          await db.drain();
          await isEqual(db, random);
        }
        expect(await db.check()).toEqual([]);
      } finally {
        await Promise.all(workers.map((each) => each.kill()));
        await folder.remove();
      }
    },
    4 * hours,
  );
});
