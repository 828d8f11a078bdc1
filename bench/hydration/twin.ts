import type { Snapshot } from "percolatordb";
import { customers, orders } from "./tables.js";

/**
 * The derived table as an engine with its state in memory holds it: totals by customer, computed
 * from all orders.
 */
export interface Twin {
  readonly totals: ReadonlyMap<number, number>;
  /** The orders that were read. */
  readonly rows: number;
}

/** Computes the totals from all orders. */
export async function rebuild(snapshot: Snapshot): Promise<Twin> {
  const totals = new Map<number, number>();
  let rows = 0;
  for await (const { row, value } of snapshot.scan(orders.amount)) {
    const [customer] = row;
    totals.set(customer, (totals.get(customer) ?? 0) + value);
    rows++;
  }
  return { totals, rows };
}

/** Counts the derived totals that are missing, too many or different. */
export async function countWrong(snapshot: Snapshot, { totals }: Twin): Promise<number> {
  let found = 0;
  let wrong = 0;
  for await (const { row, value } of snapshot.scan(customers.total)) {
    const total = totals.get(row[0]);
    if (total !== undefined) found++;
    if (total !== value) wrong++;
  }
  return wrong + totals.size - found;
}
