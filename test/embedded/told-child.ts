/**
 * A process that commits a number for each order, and reports when the commit is acknowledged:
 * `told-child.ts FOLDER ORDERS ANSWERS COMMIT`. Orders and answers go through named pipes, one byte
 * each, so that the other process can wait for the answer without a turn of its event loop.
 */
import { createReadStream, openSync, writeSync } from "node:fs";
import { open } from "percolatordb";
import { told } from "./told-table.js";

const [folder, ordersPath, answersPath, commit] = process.argv.slice(2);
const db = await open(folder!, {
  tables: [told],
  durability: "none",
  collectEveryMs: 0,
  ...(commit === "two-phase" ? { commit: "two-phase" as const } : {}),
});
const answers = openSync(answersPath!, "w");
const byte = Buffer.alloc(1);
writeSync(answers, byte);
let number = 0;
// Waits with turns of its event loop, because until the next turn it may hold LMDB's write lock.
for await (const orders of createReadStream(ordersPath!)) {
  for (let order = 0; order < orders.length; order++) {
    const value = ++number;
    await db.transact(async (tx) => tx.set(told.value, "row", value));
    writeSync(answers, byte);
  }
}
await db.close();
