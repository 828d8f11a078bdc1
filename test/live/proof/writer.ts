/**
 * A process that commits random transactions until it is killed, or has done what it was told. It
 * reads its orders as one line of JSON in its argument, and prints `wrote N` from time to time.
 */
import { ConflictError, type Transaction } from "percolatordb";
import { items, openItems, type ProcessOrders, randomOf } from "./items.js";

export interface WriterOrders extends ProcessOrders {
  readonly seed: number;
  /** How many changes to make, several in some transactions. */
  readonly operations: number;
  readonly clients: number;
}

const rows = 300;
const tags = 5;

// The process that started this one holds the other end.
process.stdin.on("end", () => process.exit(1)).resume();
const orders = JSON.parse(process.argv[2]!) as WriterOrders;
const random = randomOf(orders.seed);
const below = (limit: number) => Math.floor(random() * limit);

async function change(tx: Transaction): Promise<void> {
  const row = `item ${below(rows)}`;
  switch (below(8)) {
    case 0:
      return void tx.delete(items.total, row);
    case 1:
      return void (await tx.deleteRow(items, row));
    case 2:
      return void tx.set(items.state, row, `state ${below(1_000)}`);
    case 3:
      return void tx.set(items.tags.at(`tag ${below(tags)}`), row, below(1_000));
    case 4:
      return void tx.delete(items.tags.at(`tag ${below(tags)}`), row);
    case 5:
      return void tx.set(items.note, row, "not followed");
    default:
      tx.set(items.total, row, ((await tx.get(items.total, row)) ?? 0) + 1);
  }
}

const db = await openItems(orders);
let begun = 0;
let written = 0;
let transactions = 0;
async function client(): Promise<void> {
  while (begun < orders.operations) {
    const cells = random() < 0.2 ? 1 + below(6) : 1;
    begun += cells;
    try {
      await db.transact(
        async (tx) => {
          for (let cell = 0; cell < cells; cell++) await change(tx);
        },
        { label: "random" },
      );
    } catch (error) {
      // A writer that has lost all its retries has changed nothing.
      if (!(error instanceof ConflictError)) throw error;
    }
    written += cells;
    if (++transactions % 200 === 0) process.stdout.write(`wrote ${written}\n`);
  }
}
await Promise.all(Array.from({ length: orders.clients }, client));
await db.close();
process.stdout.write(`wrote ${written}\ndone\n`);
process.exit(0);
