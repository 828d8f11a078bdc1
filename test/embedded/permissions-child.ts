import { writeSync } from "node:fs";
import { open, table, text } from "../../src/index.js";

/**
 * Opens a folder, adds a row to it, and prints all rows. If told to, it ends without closing the
 * database, so that its last commit may not be flushed.
 */
const [path, row, end] = process.argv.slice(2) as [string, string, string | undefined];
const things = table("things", { name: text() });
const db = await open(path, { tables: [things] });
await db.transact((tx) => tx.set(things.name, row, "value"));
const snapshot = await db.snapshot();
const rows: string[] = [];
for await (const each of snapshot.scan(things.name)) rows.push(each.row);
await snapshot.close();
writeSync(1, `${rows.join(" ")}\n`);
if (end === "kill") process.kill(process.pid, "SIGKILL");
await db.close();
