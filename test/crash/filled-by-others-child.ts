/**
 * Lets other files fill the small file system that holds its folder and a small database. Prints as
 * JSON what the database can still do, first while it stays open and then after it was reopened.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { bytes, type Database, open, StoreFullError, table } from "percolatordb";

const root = process.argv[2]!;
const items = table("items", { value: bytes() });

async function isDone(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    return false;
  }
}

function fillDisk(): void {
  for (const size of [100_000, 4_096]) {
    try {
      for (;;) appendFileSync(join(root, "ballast"), Buffer.alloc(size));
    } catch {
      // The file system is full.
    }
  }
}

async function can(db: Database, row: string): Promise<Record<string, boolean>> {
  const set = (length: number) =>
    isDone(db.transact((tx) => tx.set(items.value, row, Buffer.alloc(length, 1))));
  const deleted = await isDone(db.transact((tx) => tx.delete(items.value, row)));
  await setTimeout(5);
  return {
    delete: deleted,
    collect: await isDone(db.collect()),
    short: await set(10),
    long: await set(2_000_000),
  };
}

const options = { tables: [items], retentionMs: 1, collectEveryMs: 0 };
const went: Record<string, boolean>[] = [];
{
  await using db = await open(join(root, "data"), options);
  for (const row of ["a", "b", "c"]) {
    await db.transact((tx) => tx.set(items.value, row, Buffer.alloc(3_000, 1)));
  }
  fillDisk();
  went.push(await can(db, "a"));
}
{
  await using db = await open(join(root, "data"), options);
  went.push(await can(db, "b"));
  const problems = await db.check();
  if (problems.length > 0) throw new Error(JSON.stringify(problems.slice(0, 3)));
}
process.stdout.write(`${JSON.stringify(went)}\n`);
