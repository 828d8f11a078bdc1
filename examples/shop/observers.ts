/**
 * What is derived from the shop's tables. An observer watches one column, but a total depends on
 * several columns of several tables. So the observers of these columns only notify a signal, and one
 * observer of the signal computes. A bulk update of an order's lines is one computation.
 */
import { type Column, int, json, type Observer, observer, type Transaction, tuple } from "percolatordb";
import { type Deliver, exportQueue } from "percolatordb/recipes";
import {
  attached,
  counted,
  customersByToken,
  customerTotals,
  derived,
  discontinued,
  lowStock,
  orderLines,
  orders,
  products,
  revenue,
  shelves,
} from "./tables.js";

/** What purchasing is told of a product. */
export interface StockAlert {
  readonly isLow: boolean;
}

type Id = readonly [id: number];

/** The tables and observers of the shop. `deliver` tells purchasing of low stock. */
export function shopApp(deliver: Deliver<StockAlert, Id>) {
  const alerts = exportQueue("stock_alerts", { key: tuple(int()), value: json<StockAlert>(), deliver });
  const shelf = observer("shelf", shelves.stale, (tx, { row }) =>
    checkShelf(tx, row, (isLow) => alerts.add(tx, row, { isLow })),
  );
  return {
    tables: [...attached, ...derived, ...alerts.tables],
    observers: [...marks, count, revenue.observer, shelf, customersByToken.observer, alerts.observer],
  };
}

function mark<V, K>(name: string, column: Column<V, K>, notify: (tx: Transaction, row: K) => void): Observer {
  // Before the computations, so that one of them is enough for what changed together.
  return observer(name, column, (tx, { row }) => notify(tx, row), { priority: 1 });
}

const markOrder = (tx: Transaction, [id]: readonly [number, ...unknown[]]) => tx.notify(counted.stale, [id]);
const markShelf = (tx: Transaction, row: Id) => tx.notify(shelves.stale, row);

const marks = [
  mark("order_customer", orders.customer_id, markOrder),
  mark("order_status", orders.status, markOrder),
  mark("order_day", orders.ordered_on, markOrder),
  mark("order_amount", orderLines.amount_cents, markOrder),
  mark("product_stock", products.stock, markShelf),
  mark("product_level", products.reorder_level, markShelf),
  mark("product_discontinued", discontinued.since, markShelf),
];

const count = observer("count", counted.stale, (tx, { row }) => countOrder(tx, row));

/** Brings the totals up to date with an order. Adds the difference to what they contain of it. */
export async function countOrder(tx: Transaction, row: Id): Promise<void> {
  const before = await tx.row(counted, row);
  const after = await contribution(tx, row);
  const isSame = before?.customer === after?.customer && before?.day === after?.day;
  if (isSame && before?.cents === after?.cents) return;
  if (before?.customer !== undefined) await addToCustomer(tx, before.customer, -1, -before.cents!);
  if (before?.day !== undefined) revenue.add(tx, before.day, -before.cents!);
  if (after === undefined) return tx.deleteRow(counted, row);
  await addToCustomer(tx, after.customer, 1, after.cents);
  revenue.add(tx, after.day, after.cents);
  tx.set(counted.customer, row, after.customer);
  tx.set(counted.day, row, after.day);
  tx.set(counted.cents, row, after.cents);
}

interface Contribution {
  readonly customer: number;
  readonly day: string;
  readonly cents: number;
}

/** What an order adds to the totals. Undefined if it is cancelled or deleted. */
async function contribution(tx: Transaction, row: Id): Promise<Contribution | undefined> {
  const order = await tx.row(orders, row);
  if (order?.status === undefined || order.status === "cancelled") return undefined;
  let cents = 0;
  for await (const { value } of tx.scan(orderLines.amount_cents, { prefix: [row[0]] })) cents += value;
  return { customer: order.customer_id!, day: order.ordered_on!, cents };
}

async function addToCustomer(tx: Transaction, id: number, addedOrders: number, cents: number): Promise<void> {
  const total = await tx.row(customerTotals, [id]);
  const left = (total?.orders ?? 0) + addedOrders;
  if (left === 0) return tx.deleteRow(customerTotals, [id]);
  tx.set(customerTotals.orders, [id], left);
  tx.set(customerTotals.cents, [id], (total?.cents ?? 0) + cents);
}

/** Keeps a product in `low_stock` for as long as its stock is low, and tells of each change. */
async function checkShelf(
  tx: Transaction,
  row: Id,
  tell: (isLow: boolean) => Promise<unknown>,
): Promise<void> {
  const product = await tx.row(products, row);
  const isDiscontinued = (await tx.get(discontinued.since, row)) !== undefined;
  const wasLow = (await tx.get(lowStock.missing, row)) !== undefined;
  const { stock, reorder_level: level } = product ?? {};
  const isLow = stock !== undefined && level !== undefined && stock < level && !isDiscontinued;
  if (isLow !== wasLow) await tell(isLow);
  if (!isLow) return tx.deleteRow(lowStock, row);
  tx.set(lowStock.stock, row, stock);
  tx.set(lowStock.missing, row, level - stock);
}
