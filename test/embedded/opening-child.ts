import { openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { open as openLmdb } from "lmdb";
import { open } from "percolatordb";
import { counted } from "./opening-tables.js";

/**
 * Disturbs the commits of another process until it is killed, and prints a line each time. The
 * first argument is the folder, and the second one says how:
 *
 * - `database`: opens and closes the database, in turn for writing and for reading only
 * - `lmdb`: opens and closes LMDB's files without an announcement, as other programs do
 * - `set back`: sets LMDB's number of the last transaction back
 */
const [folder, how] = process.argv.slice(2) as [string, string];

if (how === "database") {
  for (let i = 0; ; i++) {
    const db = await open(folder, { tables: [counted], readOnly: i % 2 === 1 });
    await db.close();
    process.stdout.write(`${i}\n`);
  }
} else if (how === "lmdb") {
  for (let i = 0; ; i++) {
    const root = openLmdb({ path: folder, noSubdir: false, maxDbs: 8, readOnly: i % 2 === 1 });
    await root.close();
    process.stdout.write(`${i}\n`);
  }
} else {
  const file = openSync(join(folder, "lock.mdb"), "r+");
  const number = Buffer.alloc(8);
  for (let i = 0; ; i++) {
    await setTimeout(1);
    readSync(file, number, 0, 8, 8);
    const last = number.readBigUInt64LE();
    const back = BigInt(1 + (i % 3));
    number.writeBigUInt64LE(last < back ? 0n : last - back);
    writeSync(file, number, 0, 8, 8);
    process.stdout.write(`${i}\n`);
  }
}
