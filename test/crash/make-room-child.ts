/**
 * Fills the small file system of its folder with many concurrent transactions, while other files
 * take space and a snapshot keeps pages. Then makes space only inside the database, by deletes and
 * garbage collection. Prints as JSON which operations succeeded.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytes, open, StoreFullError, table } from "percolatordb";
import { Random } from "./random.js";

const [root, seed] = process.argv.slice(2) as [string, string];
const random = new Random(seed);
const items = table("items", { value: bytes() });
const rows = 3_000;
const written = { mixed: 0, refused: 0, deleted: 0, again: 0 };

const ballast = join(root, "ballast");

async function isWritten(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    return false;
  }
}

/** Lets other files take space on the disk. */
function takeSpace(): void {
  rmSync(ballast, { force: true });
  try {
    writeFileSync(ballast, Buffer.alloc(random.below(3_000_000)));
  } catch {
    // The disk is full, as intended. Part of the data was written.
  }
}

{
  await using db = await open(join(root, "data"), { tables: [items], retentionMs: 1, collectEveryMs: 0 });
  const mixed = () =>
    db.transact((tx) => {
      const longest = random.pick([300, 20_000, 400_000]);
      for (let count = random.below(20); count >= 0; count--) {
        const row = `row${random.below(rows)}`;
        if (random.chance(0.4)) tx.delete(items.value, row);
        else tx.set(items.value, row, Buffer.alloc(random.below(longest), count));
      }
    });
  for (let round = 0; round < 30; round++) {
    await using _snapshot = random.chance(0.5) ? await db.snapshot() : undefined;
    if (random.chance(0.3)) takeSpace();
    const results = await Promise.all(Array.from({ length: 40 }, () => isWritten(mixed())));
    written.mixed += results.filter(Boolean).length;
    written.refused += results.filter((each) => !each).length;
  }
  const set = (number: number) =>
    isWritten(db.transact((tx) => tx.set(items.value, `new${number}`, Buffer.alloc(5_000, 1))));
  let full = 0;
  for (let failures = 0; failures < 20; full++) if (!(await set(full))) failures++;
  for (let number = 0; number < rows; number++) {
    if (await isWritten(db.transact((tx) => tx.delete(items.value, `row${number}`)))) written.deleted++;
  }
  await db.collect();
  for (let failures = 0; failures < 20; full++) {
    if (await set(full)) written.again++;
    else failures++;
  }
  // Free pages that are not adjacent cannot hold a long value.
  for (let number = 0; number < full; number += 3) {
    await isWritten(db.transact((tx) => tx.delete(items.value, `new${number}`)));
  }
  await db.collect();
  const long = Buffer.alloc(1_000_000, 1);
  for (let number = 0; number < 100; number++) {
    if (!(await isWritten(db.transact((tx) => tx.set(items.value, `long${number}`, long)))))
      written.refused++;
  }
  const problems = await db.check();
  if (problems.length > 0) throw new Error(JSON.stringify(problems.slice(0, 3)));
}
process.stdout.write(`${JSON.stringify(written)}\n`);
