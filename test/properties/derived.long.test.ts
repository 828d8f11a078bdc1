import { type Database, open } from "percolatordb";
import { describe, expect, test } from "vitest";
import { makePlace, type StoreName } from "../cluster/places.js";
import { RandomShop } from "../support/derived/changes.js";
import { openShop, type ShopOrders } from "../support/derived/place.js";
import { actualOf, derivations, expectedOf, shop } from "../support/derived/shop.js";
import { ProgramProcess } from "../support/program-process.js";

/**
 * Random inserts, updates and deletes of orders and customers. Every derived table equals a
 * recomputation in plain JavaScript, again and again. Beyond memory, three processes run the
 * observers, and one of them is killed in each round.
 *
 * `DERIVED_OPERATIONS=1000000 npx vitest run --mode long test/properties/derived.long.test.ts` makes a
 * million of them, in shares on every store. Without the variable it is a short run in memory and on a
 * folder.
 */
const given = process.env.DERIVED_OPERATIONS;
const wanted = Number(given ?? 20_000);
const rounds = 20;
/** Changes in a transaction. */
const together = 200;
const hours = 3_600_000;

interface Course {
  readonly store: StoreName;
  readonly commit: "auto" | "two-phase";
  /** The part of all changes that this store gets. Some stores take long. */
  readonly share: number;
}

const courses: readonly Course[] = [
  { store: "lmdb", commit: "auto", share: 0.5 },
  { store: "lmdb", commit: "two-phase", share: 0.04 },
  { store: "postgres", commit: "auto", share: 0.04 },
  { store: "postgres", commit: "two-phase", share: 0.015 },
  { store: "bigtable", commit: "auto", share: 0.005 },
];
const shareOfMemory = 0.4;

async function isEqual(db: Database, random: RandomShop): Promise<void> {
  await using snapshot = await db.snapshot();
  expect(await actualOf(snapshot)).toEqual(expectedOf(random.orders, random.customers));
  for (const derivation of derivations) expect(await derivation.compare(snapshot)).toEqual([]);
}

test(
  "derivations in memory, with two workers",
  async () => {
    await using db = await open("memory:", { ...shop, retentionMs: 1_000 });
    await using _one = db.work();
    await using _other = db.work();
    const random = new RandomShop(1, 600);
    for (let round = 0; round < rounds; round++) {
      await random.change(db, (wanted * shareOfMemory) / rounds, together);
      await db.drain();
      await isEqual(db, random);
    }
    expect(await db.check()).toEqual([]);
  },
  4 * hours,
);

const isAsked = ({ store, commit }: Course) => given !== undefined || (store === "lmdb" && commit === "auto");

describe.each(courses.filter(isAsked))("derivations on $store, $commit", ({ store, commit, share }) => {
  test(
    "with a worker of this process and two others, one of which is killed in each round",
    async () => {
      await using place = await makePlace(store);
      const orders = async (): Promise<ShopOrders> => {
        const { connection } = await place.connect();
        return { connection, commit, retentionMs: 10_000 };
      };
      const workers: ProgramProcess[] = [];
      try {
        await using db = await openShop(await orders());
        await using _worker = db.work();
        const random = new RandomShop(2, 600);
        for (let round = 0; round < rounds; round++) {
          while (workers.length < 2) {
            const arguments_ = [JSON.stringify(await orders())];
            workers.push(new ProgramProcess("test/support/derived/worker.ts", arguments_));
          }
          const half = (wanted * share) / rounds / 2;
          await random.change(db, half, together);
          const killed = workers.shift()!;
          await killed.said((line) => line === "running");
          await killed.kill();
          await random.change(db, half, together);
          await db.drain();
          await isEqual(db, random);
        }
        expect(await db.check()).toEqual([]);
        process.stdout.write(`${store}, ${commit}: ${wanted * share} changes, ${rounds} workers killed\n`);
      } finally {
        await Promise.all(workers.map((each) => each.kill()));
      }
    },
    4 * hours,
  );
});
