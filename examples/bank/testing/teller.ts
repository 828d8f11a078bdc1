/**
 * A process of the test. It makes transfers in a folder and audits, prints each committed transfer,
 * and is killed at any moment.
 */
import { open } from "percolatordb";
import { audit } from "../audit.js";
import { makeTransfers } from "../load.js";
import { tables } from "../tables.js";

const [folder, name, accounts] = process.argv.slice(2) as [string, string, string];

const db = await open(folder, { tables, observers: [audit] });
db.work();
await makeTransfers(db, {
  name,
  accounts: Number(accounts),
  transfers: Number.POSITIVE_INFINITY,
  clients: 16,
  onDone: (id, transfer) => console.log(JSON.stringify([id, transfer])),
});
