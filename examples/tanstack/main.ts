/**
 * Serves a shop on loopback, and follows it as a browser would, with a live query of TanStack DB over
 * two collections. See README.md.
 */
import { BasicIndex, createCollection, createLiveQueryCollection, eq, sum } from "@tanstack/db";
import { open } from "percolatordb";
import { percolatorCollection } from "./collection.js";
import { serve, shopApp } from "./server.js";
import * as tables from "./tables.js";

await using db = await open("memory:", { feeds: [tables.customerFeed, tables.orderFeed] });
await db.transact((tx) => {
  tx.set(tables.customers.name, "c1", "Ada");
  tx.set(tables.customers.name, "c2", "Alan");
  tx.set(tables.orders.customer, "o1", "c1");
  tx.set(tables.orders.total, "o1", 30);
});
const server = await serve(shopApp(db).fetch);

const customers = createCollection(
  percolatorCollection<typeof tables.customers>({
    url: `${server.url}/feeds/customers`,
    table: "customers",
  }),
);
const orders = createCollection(
  percolatorCollection<typeof tables.orders>({
    url: `${server.url}/feeds/orders`,
    table: "orders",
    writeUrl: `${server.url}/write`,
  }),
);
// The join looks up the orders of a customer.
orders.createIndex(({ customer }) => customer, { indexType: BasicIndex });
const spending = createLiveQueryCollection((query) =>
  query
    .from({ order: orders })
    .join({ customer: customers }, ({ order, customer }) => eq(order.customer, customer.row), "inner")
    .groupBy(({ customer }) => customer.name)
    .select(({ order, customer }) => ({ name: customer.name, total: sum(order.total) }))
    .orderBy(({ customer }) => customer.name),
);
await spending.preload();
show("the snapshot");

const changed = new Promise((resolve) => spending.subscribeChanges(resolve));
await db.transact((tx) => tx.set(tables.orders.total, "o1", 40));
await changed;
show("a change by another program");

const made = orders.insert({ row: "o2", customer: "c2", total: 5 });
show("an order, before the server has answered");
await made.isPersisted.promise;
show("confirmed by the server");

const refused = orders.insert({ row: "o3", customer: "c2", total: -1 });
show("an order that the server will refuse");
await refused.isPersisted.promise.catch((error: unknown) => console.log(String(error)));
show("rolled back");

await Promise.all([spending, orders, customers].map((collection) => collection.cleanup()));
await server.close();

function show(when: string): void {
  const totals = spending.toArray.map(({ name, total }) => `${name} ${total}`);
  console.log(`${when.padEnd(42)}${totals.join(", ")}`);
}
