/**
 * A process of exit.test.ts. It ends while one of LMDB's write threads holds LMDB's write lock and
 * waits for the event loop. `exit-child.ts FOLDER exit|throw|closed`.
 */
import { open, table, text } from "percolatordb";
import { isWriteBeginning } from "../../src/store/lmdb/file/exit-guard.js";

const log = table("log", { contents: text() });
const [folder, how] = process.argv.slice(2) as [string, "exit" | "throw" | "closed"];
/** Longer than the thread needs to get the lock. */
const blockMs = 100;

const db = await open(folder, { tables: [log], collectEveryMs: 0 });
await db.transact((tx) => tx.set(log.contents, "first", "done"));
if (how === "closed") {
  await db.close();
  process.exit(7);
}
while (!isWriteBeginning()) {
  void db.transact((tx) => tx.set(log.contents, "second", "begun")).catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
}
for (const began = performance.now(); performance.now() - began < blockMs; );
if (how === "exit") process.exit(7);
throw new Error("Nobody catches this.");
