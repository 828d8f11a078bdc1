/**
 * Fills the small file system of its folder to the last page. Then deletes so much that LMDB's list
 * of free pages itself needs pages. Prints which operations succeed after that, when the file has
 * free pages but none at its end.
 */
import { setTimeout } from "node:timers/promises";
import { bytes, open, StoreFullError, table } from "percolatordb";

const items = table("items", { value: bytes() });
const small = 3_000;
const went: Record<string, boolean> = {};

async function isDone(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    return false;
  }
}

const smallRow = (number: number) => `small${String(number).padStart(5, "0")}`;

{
  await using db = await open(process.argv[2]!, { tables: [items], retentionMs: 1, collectEveryMs: 0 });
  const set = (row: string, length: number) =>
    isDone(db.transact((tx) => tx.set(items.value, row, Buffer.alloc(length, 1))));
  const remove = (rows: Iterable<string>) =>
    isDone(
      db.transact((tx) => {
        for (const row of rows) tx.delete(items.value, row);
      }),
    );
  const fill = async (name: string, length: number) => {
    let count = 0;
    for (let failures = 0; failures < 5; ) {
      if (await set(`${name}${count}`, length)) count++;
      else failures++;
    }
    return count;
  };
  const collect = async () => {
    await isDone(db.collect());
    // The latest deletes are now older than the retention.
    await setTimeout(20);
    return await isDone(db.collect());
  };
  const everySecond = function* (from: number, to: number) {
    for (let number = from; number < to; number += 2) yield [`one${number}`];
  };

  for (let number = 0; number < small; number += 300) {
    await db.transact((tx) => {
      for (let i = number; i < number + 300; i++) tx.set(items.value, smallRow(i), Buffer.alloc(1_000, 1));
    });
  }
  const ones = await fill("one", 3_000);
  for (const rows of everySecond(0, 600)) await remove(rows);
  await collect();
  await fill("two", 4_100);
  for (const rows of everySecond(600, ones)) await remove(rows);
  await collect();
  // Each transaction touches hundreds of pages.
  for (let first = 0; first < 4; first++) {
    await remove(Array.from({ length: small / 8 }, (_, i) => smallRow(8 * i + first)));
  }
  went.delete = await remove(["one1"]);
  went.short = await set("short", 10);
  went.collect = await collect();
  for (let number = 0; number < 200; number++) await remove([`two${number}`]);
  for (let number = 1; number < 400; number += 2) await remove([`one${number}`]);
  await collect();
  went.long = await set("long", 5_000);
  const problems = await db.check();
  if (problems.length > 0) throw new Error(JSON.stringify(problems.slice(0, 3)));
}
process.stdout.write(`${JSON.stringify(went)}\n`);
