import { type Database, open } from "percolatordb";
import { sayProgress } from "../harness/program.js";
import {
  customers,
  customersOf,
  type Order,
  orderOf,
  orders,
  type Shape,
  totalsOf,
  waitingOf,
} from "./tables.js";

/** Orders in one transaction. */
const atOnce = 10_000;

/**
 * Builds the database: orders with their totals, as if the observer had run for each, and then
 * orders for which it has not run yet.
 */
export async function build(folder: string, shape: Shape): Promise<void> {
  const settings = { durability: "none", collectEveryMs: 0 } as const;
  {
    await using db = await open(folder, { ...settings, tables: [orders, customers] });
    await addOrders(db, "built", shape.rows, orderOf);
    await addTotals(db, shape);
  }
  // Only orders that are added from here on wait for the observer.
  await using db = await open(folder, { ...settings, tables: [orders, customers], observers: [totalsOf()] });
  await addOrders(db, "waiting", shape.waiting, (index) => waitingOf(index, shape));
}

async function addOrders(
  db: Database,
  what: string,
  count: number,
  of: (index: number) => Order,
): Promise<void> {
  for (let first = 0; first < count; first += atOnce) {
    sayProgress(`${what}: ${first} of ${count} orders`);
    await db.transact((tx) => {
      for (let index = first; index < Math.min(count, first + atOnce); index++) {
        const { customer, number, amount } = of(index);
        tx.set(orders.amount, [customer, number], amount);
      }
    });
  }
}

async function addTotals(db: Database, shape: Shape): Promise<void> {
  const count = customersOf(shape);
  const totals = new Float64Array(count);
  for (let index = 0; index < shape.rows; index++) {
    const { customer, amount } = orderOf(index);
    totals[customer]! += amount;
  }
  for (let first = 0; first < count; first += atOnce) {
    sayProgress(`built: ${first} of ${count} totals`);
    await db.transact((tx) => {
      for (let customer = first; customer < Math.min(count, first + atOnce); customer++) {
        tx.set(customers.total, [customer], totals[customer]!);
      }
    });
  }
}
