/**
 * A process that appends every transaction of the feed to a file, a line for each. It continues
 * after the last whole line, as a program does that was killed. It ends after the last transaction.
 */
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { fedTransactions, isEnd, lastRow, openItems, type ProcessOrders } from "./items.js";

export interface ReaderOrders extends ProcessOrders {
  readonly file: string;
  /** Where the first reader begins. */
  readonly since: number;
}

/** Removes half a line at the end of a file, and returns the last whole line. */
function lastLine(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "latin1");
  const end = text.lastIndexOf("\n") + 1;
  truncateSync(file, end);
  return end === 0 ? undefined : text.slice(text.lastIndexOf("\n", end - 2) + 1, end - 1);
}

// The process that started this one holds the other end.
process.stdin.on("end", () => process.exit(1)).resume();
const orders = JSON.parse(process.argv[2]!) as ReaderOrders;
const last = lastLine(orders.file);
const since = last === undefined ? orders.since : Number(last.slice(0, last.indexOf(" ")));
const db = await openItems(orders);
const file = openSync(orders.file, "a");
// The last reader may have been killed after it had read everything.
if (last === undefined || !last.includes(`"${lastRow}"`)) {
  for await (const transaction of fedTransactions(db, since)) {
    writeSync(file, `${transaction.line}\n`);
    if (isEnd(transaction)) break;
  }
}
closeSync(file);
await db.close();
process.stdout.write("done\n");
process.exit(0);
