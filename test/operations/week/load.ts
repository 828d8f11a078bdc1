/**
 * A program of the shop: `load.ts LOCATION PREFIX` writes orders, whose rows begin with the prefix, until
 * SIGTERM. It prints `ROW SERIAL` for each that is committed.
 */
import { open } from "percolatordb";
import { orders, write } from "./tables.js";

const rows = 40;
const betweenMs = 20;

const [location, prefix] = process.argv.slice(2) as [string, string];
await using db = await open(location, { tables: [orders], create: false });
let isEnding = false;
process.once("SIGTERM", () => {
  isEnding = true;
});
for (let serial = 0; !isEnding; serial++) {
  const row = `${prefix}${serial % rows}`;
  await db.transact((tx) => write(tx, row, serial));
  process.stdout.write(`${row} ${serial}\n`);
  await new Promise((resolve) => setTimeout(resolve, betweenMs));
}
