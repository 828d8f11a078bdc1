/**
 * Fills its file system through the database, twice. Each time it frees space and continues, first
 * with the database still open and then after reopening it. Prints the results as JSON. Throws if
 * any check fails.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Database, StoreError } from "percolatordb";
import { accounts, documents, log } from "./app.js";
import { operation, perform } from "./operations.js";
import { Difference, doneIn } from "./twin.js";
import { openForCheck, sound, verify } from "./verify.js";

const [root] = process.argv.slice(2) as [string];
const folder = join(root, "data");
const ballastBytes = 2 * 1024 * 1024;
const generation = { version: 1, late: false };
const told = new Set<string>();
const errors = new Map<string, number>();
/** The number of failures in a row after which the disk counts as full. */
const failuresWhenFull = 20;
const most = 100_000;

const ballast = (number: number) => join(root, `ballast${number}`);
for (const number of [1, 2]) writeFileSync(ballast(number), Buffer.alloc(ballastBytes, 1));

/**
 * Writes until every write fails. Each failure must be a StoreError. Each operation also writes a
 * filler cell, which takes space.
 */
async function fill(db: Database, writer: string): Promise<void> {
  let failures = 0;
  for (let number = 0; number < most && failures < failuresWhenFull; number++) {
    const task = operation(writer, number);
    try {
      await db.transact(async (tx) => {
        await perform(tx, task);
        tx.set(log.filler, task.name, "x".repeat(12_000));
      });
      told.add(task.name);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      errors.set(error.code, (errors.get(error.code) ?? 0) + 1);
      failures++;
    }
  }
  if (failures < failuresWhenFull) throw new Difference("The disk was never full.");
}

async function nothingLost(db: Database, when: string): Promise<void> {
  await sound(db, when);
  const done = new Set(await doneIn(db));
  for (const name of told)
    if (!done.has(name)) throw new Difference(`${when}: ${name} was told committed, and is gone.`);
  await using snapshot = await db.snapshot();
  for await (const _ of snapshot.scan(documents.contents));
  for await (const _ of snapshot.scan(accounts.balance));
}

/** Writes a few more operations, all of which must succeed. */
async function goOn(db: Database, writer: string): Promise<void> {
  for (let number = 0; number < 20; number++) {
    const task = operation(writer, number);
    await db.transact((tx) => perform(tx, task));
    told.add(task.name);
  }
}

{
  await using db = await openForCheck(folder, generation, "auto");
  await using _worker = db.work({ concurrency: 4 });
  await fill(db, "first");
  await nothingLost(db, "on the full disk");
  rmSync(ballast(1));
  await goOn(db, "second");
  await db.drain();
  await fill(db, "third");
  await nothingLost(db, "on the disk that is full again");
}
rmSync(ballast(2));
await verify({ folder, generation, told, commit: "auto" });
await using db = await openForCheck(folder, generation, "two-phase");
await goOn(db, "fourth");
await db.drain();
await nothingLost(db, "after all");
process.stdout.write(`${JSON.stringify({ told: told.size, errors: Object.fromEntries(errors) })}\n`);
