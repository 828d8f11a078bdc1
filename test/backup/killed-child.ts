import { open } from "percolatordb";
import { followBackup } from "percolatordb/backup";
import { Random } from "../crash/random.js";
import { addUp, change, items, tables } from "./load.js";

/**
 * `write FOLDER SEED` commits random transactions and runs a worker. It prints each acknowledged
 * commit, with its number, its timestamp and the time of the answer. `follow FOLDER PLACE EVERY` makes backups, and prints when
 * each was taken.
 */
const [role, folder, ...rest] = process.argv.slice(2);

async function write(seed: string): Promise<void> {
  const db = await open(folder!, { tables, observers: [addUp] });
  const worker = db.work();
  const random = new Random(seed);
  let stops = false;
  process.stdin.once("data", () => {
    stops = true;
  });
  let number: number;
  {
    await using snapshot = await db.snapshot();
    number = ((await snapshot.get(items.value, "newest")) ?? -1) + 1;
  }
  while (!stops) {
    await Promise.all([
      change(db, (limit) => random.below(limit)),
      change(db, (limit) => random.below(limit)),
    ]);
    let timestamp = 0;
    await db.transact((tx) => {
      tx.set(items.value, "newest", number);
      tx.onCommit((at) => {
        timestamp = at;
      });
    });
    process.stdout.write(`${number++} ${timestamp} ${Date.now()}\n`);
    if (random.chance(0.02)) await db.collect({ retentionMs: 1_000 });
  }
  await worker.stop();
  await db.close();
  process.stdin.destroy();
}

async function follow(destination: string, everyMs: number): Promise<void> {
  for await (const done of followBackup(folder!, destination, { everyMs, keep: 20 })) {
    if (done.kind === "failed") throw done.error;
    process.stdout.write(`${done.takenAt}\n`);
  }
}

if (role === "write") await write(rest[0]!);
else await follow(rest[0]!, Number(rest[1]));
