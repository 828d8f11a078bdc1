/**
 * One of several processes that fill the same small file system through the same database, with
 * many concurrent transactions and with garbage collection. Prints as JSON how many transactions
 * committed and how many were refused. Throws for any other error.
 */
import { bytes, open, StoreFullError, table } from "percolatordb";
import { Random } from "./random.js";

const [folder, seed] = process.argv.slice(2) as [string, string];
const random = new Random(seed);
const items = table("items", { value: bytes() });
const went = { written: 0, refused: 0 };

async function count(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
    went.written++;
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    went.refused++;
  }
}

{
  await using db = await open(folder, { tables: [items], retentionMs: 1, collectEveryMs: 0 });
  const mixed = () =>
    db.transact((tx) => {
      const longest = random.pick([10, 1_000, 5_000, 40_000, 200_000]);
      for (let cells = random.below(12); cells >= 0; cells--) {
        const row = `${seed}${random.below(200)}`;
        if (random.chance(0.3)) tx.delete(items.value, row);
        else tx.set(items.value, row, Buffer.alloc(random.below(longest), cells));
      }
    });
  for (let round = 0; round < 150; round++) {
    await Promise.all(Array.from({ length: 1 + random.below(8) }, () => count(mixed())));
    if (random.chance(0.3)) await count(db.collect());
  }
}
process.stdout.write(`${JSON.stringify(went)}\n`);
