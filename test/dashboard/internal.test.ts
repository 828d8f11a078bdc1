import { int, open, table, text } from "percolatordb";
import * as recipes from "percolatordb/recipes";
import {
  combineQueue,
  combiningCounter,
  derive,
  eventualIndex,
  exactIndex,
  exportQueue,
  rateLimit,
  schedule,
  spreadTable,
  uniqueConstraint,
} from "percolatordb/recipes";
import { expect, test } from "vitest";
import type { Pipeline } from "../../src/dashboard/api/index.js";
import { served } from "./pipeline.js";

const orders = table("orders", { city: text(), cents: int() });
const customers = table("customers", { name: text() });
/** It ends like a table of a recipe and is none. */
const states = table("orders_state", { place: text() });

/** One of each recipe that has tables, by the name of its function, and of each kind of derivation. */
const made = {
  combineQueue: combineQueue("longest", { value: int(), update: int(), combine: (value = 0) => value })
    .tables,
  combiningCounter: combiningCounter("hits").tables,
  schedule: schedule("reminders", { value: text(), fire: () => {} }).tables,
  exportQueue: exportQueue("letters", { value: text(), deliver: () => {} }).tables,
  uniqueConstraint: [uniqueConstraint("names", customers.name, { by: (name) => name }).table],
  exactIndex: [exactIndex("by_name", customers.name, { by: text(), of: (name) => [name] }).table],
  eventualIndex: [eventualIndex("by_city", orders.city, { by: text(), of: (city) => [city] }).table],
  rateLimit: [rateLimit("fetches", { perSecond: 2, burst: 5 }).table],
  spreadTable: [spreadTable("events", { what: text() }).table],
  derive: [
    ...derive("totals", {
      from: orders,
      key: [text()],
      groupBy: ({ city }) => [city],
      sum: ({ cents }) => cents ?? 0,
      count: true,
    }).tables,
    ...derive("ranked", {
      from: orders,
      key: [text()],
      groupBy: ({ city }) => [city],
      min: ({ cents }) => cents,
      max: ({ cents }) => cents,
      top: { n: 3, by: ({ cents }) => cents },
    }).tables,
    ...derive("named", {
      from: orders,
      join: customers,
      on: ({ city }) => city,
      columns: { name: text() },
      select: (_, customer) => ({ name: customer.name }),
    }).tables,
    ...derive("places", {
      from: orders,
      key: [text()],
      index: function* ({ city }) {
        if (city !== undefined) yield [city] as const;
      },
    }).tables,
  ],
};

/** The tables that programs read. */
const own = [
  ...["orders", "orders_state", "customers"],
  ...["longest", "hits", "reminders", "letters", "names", "by_name", "by_city", "fetches", "events"],
  ...["totals", "ranked", "named", "places"],
].sort();

test("every recipe that has tables is below", () => {
  const makers = Object.entries(recipes).filter(
    ([name, value]) => typeof value === "function" && /^[a-z]/.test(name),
  );
  const others = ["clearRange", "columnWriter", "exportToFile", "readExportFile"];
  const known = [...Object.keys(made), ...others];
  expect(
    makers.map(([name]) => name).filter((name) => !/^is[A-Z]/.test(name) && !known.includes(name)),
  ).toEqual([]);
});

test("tables that recipes keep for themselves are internal, those that programs read are not", async () => {
  const tables = [orders, customers, states, ...Object.values(made).flat()];
  const db = await open("memory:", { tables, collectEveryMs: 0 });
  await using dashboard = await served(db, { tables: [] });
  const shown = (await dashboard.get<Pipeline>("pipeline")).tables;
  expect(shown.filter((each) => !each.isInternal).map(({ name }) => name)).toEqual(own);
  const internal = shown.filter(({ isInternal }) => isInternal);
  // Recipes that programs read through one table, and that keep others beside it.
  const owners = new Set(internal.map(({ owner }) => owner));
  expect([...owners].sort()).toEqual([
    "hits",
    "letters",
    "longest",
    "named",
    "places",
    "ranked",
    "reminders",
    "totals",
  ]);
  // Each knows for which table it is kept.
  for (const { name, owner } of internal)
    expect(name.startsWith(`${owner}_`), `${name} of ${owner}`).toBe(true);
  await db.close();
});
