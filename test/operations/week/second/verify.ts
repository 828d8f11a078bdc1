/**
 * `verify.ts LOCATION` derives everything again from the orders, with plain loops over one snapshot. It
 * prints one line of JSON: {@link Verified}.
 */
import { open } from "percolatordb";
import { receiptOf, revenue, total } from "./app.js";
import { orders, receipts } from "./tables.js";

/** What the program prints. */
export interface Verified {
  /** The serial number of each order by its row. */
  readonly serials: Readonly<Record<string, number>>;
  /** What is derived, and what a recomputation makes, by row. */
  readonly derived: Readonly<Record<string, unknown>>;
  readonly recomputed: Readonly<Record<string, unknown>>;
}

const serials: Record<string, number> = {};
const derived: Record<string, unknown> = {};
const recomputed: Record<string, unknown> = {};
const sums = new Map<string, { count: number; sum: number }>();

await using db = await open(process.argv[2]!, {
  tables: [orders, receipts, ...revenue.tables],
  create: false,
});
await using snapshot = await db.snapshot();
for await (const { row, value } of snapshot.scan(orders.serial)) serials[row] = value;
for await (const { row, value } of snapshot.scan(orders.sale)) {
  recomputed[`receipt ${row}`] = receiptOf(value);
  const { count, sum } = sums.get(value.item) ?? { count: 0, sum: 0 };
  sums.set(value.item, { count: count + 1, sum: sum + total(value) });
}
for (const [item, value] of sums) recomputed[`revenue ${item}`] = value;
for await (const { row, value } of snapshot.scan(receipts.text)) derived[`receipt ${row}`] = value;
for await (const { row, value } of snapshot.scan(revenue.table)) derived[`revenue ${row[0]}`] = value;
const verified: Verified = { serials, derived, recomputed };
process.stdout.write(`${JSON.stringify(verified)}\n`);
