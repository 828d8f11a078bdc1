/**
 * The shop's SQL tables as this library follows them, and the tables that observers derive from them.
 */
import { int, signal, table, text, tuple } from "percolatordb";
import { attach } from "percolatordb/postgres";
import { combiningCounter, eventualIndex } from "percolatordb/recipes";
import { tokensOf } from "./tokens.js";

const id = tuple(int());

export const customers = attach("shop.customers", { key: id, columns: { name: text(), city: text() } });

export const products = attach("shop.products", {
  key: id,
  columns: { name: text(), stock: int(), reorder_level: int() },
});

export const orders = attach("shop.orders", {
  key: id,
  columns: { customer_id: int(), status: text(), ordered_on: text() },
});

export const orderLines = attach("shop.order_lines", {
  key: tuple(int(), int()),
  columns: { amount_cents: int() },
});

export const discontinued = attach("shop.discontinued", { key: id, columns: { since: text() } });

/** The SQL tables. */
export const attached = [customers, products, orders, orderLines, discontinued];

/**
 * What the totals contain of each order. `stale` is notified when the order or one of its lines has
 * changed.
 */
export const counted = table(
  "counted_orders",
  { stale: signal(), customer: int(), day: text(), cents: int() },
  { key: id },
);

/** Number and value of each customer's orders that are not cancelled. */
export const customerTotals = table("customer_totals", { orders: int(), cents: int() }, { key: id });

/** Cents by day. All orders of a day change it, so it is a counter that combines what they add. */
export const revenue = combiningCounter("revenue");

/** Notified when something has changed that decides whether a product's stock is low. */
export const shelves = table("shelves", { stale: signal() }, { key: id });

/** Products whose stock is below their reorder level, and how many are missing. */
export const lowStock = table("low_stock", { stock: int(), missing: int() }, { key: id });

/** Customers by the words of their names. */
export const customersByToken = eventualIndex("customers_by_token", customers.name, {
  by: text(),
  of: tokensOf,
});

/** The derived tables, without those of the queue of alerts. */
export const derived = [
  counted,
  customerTotals,
  ...revenue.tables,
  shelves,
  lowStock,
  customersByToken.table,
];
