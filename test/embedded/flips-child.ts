import { closeSync, copyFileSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PercolatorError } from "../../src/errors/index.js";
import { type Database, open } from "../../src/index.js";
import { contents, flipAt, flipMark, read, things } from "./flips-table.js";

/**
 * Flips one bit at a time in copies of a database, and prints each result as one line of JSON.
 * Arguments: the database's file, a folder for the copies, the seed, the first flip and the number
 * of flips.
 */
const [whole, folder, seed, first, count] = process.argv.slice(2) as [string, string, string, string, string];

const sayLine = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

async function named<T>(action: () => Promise<T>): Promise<T | string> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    return error.code;
  }
}

for (let number = Number(first); number < Number(first) + Number(count); number++) {
  const path = join(folder, `flip-${number}`);
  mkdirSync(path);
  const file = join(path, "data.mdb");
  copyFileSync(whole, file);
  const flip = flipAt(Number(seed), number, file);
  const handle = openSync(file, "r+");
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, flip.offset);
  byte[0]! ^= 1 << flip.bit;
  writeSync(handle, byte, 0, 1, flip.offset);
  closeSync(handle);
  sayLine({ number, step: "open", ...flip });
  // Marks the beginning of this flip's output, because LMDB's own output may lack a line end.
  writeSync(2, `\n${flipMark}${number}\n`);
  const db = await named(() => open(path, { tables: [things], durability: "none" }));
  if (typeof db === "string") {
    sayLine({ number, step: "done", check: db, reads: db });
  } else {
    const check = await named(async () => (await (db as Database).check()).map(({ message }) => message));
    sayLine({ number, step: "reads", check });
    const reads = await named(() => read(db as Database));
    await named(() => (db as Database).transact((tx) => tx.set(things.name, "written", "now")));
    const isRight = typeof reads !== "string" && reads.join() === contents().join();
    sayLine({
      number,
      step: "done",
      check,
      reads: typeof reads === "string" ? reads : isRight ? "right" : "wrong",
    });
    await (db as Database).close().catch(() => undefined);
  }
  rmSync(path, { recursive: true, force: true });
}
