import { type Database, type Observer, observer, open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import type { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { countOrder, shopApp } from "./observers.js";
import { copyLine } from "./progress.js";
import { searchCustomers } from "./search.js";
import { serveShop } from "./serve.js";
import { connect, createShop, tellPurchasing } from "./sql.js";
import { eachActionOnce } from "./storm.js";
import {
  attached,
  counted,
  customers,
  customersByToken,
  customerTotals,
  orderLines,
  revenue,
} from "./tables.js";
import { newShopPlace, type ShopPlace } from "./testing/place.js";
import { verify } from "./verify.js";

const orders = 60;

let place: ShopPlace;
let pool: Pool;

beforeEach(async () => {
  place = await newShopPlace();
  pool = connect(place.location, 4);
  await createShop(pool, orders);
});

afterEach(async () => {
  await pool.end();
  await place[Symbol.asyncDispose]();
});

/** A database with the shop's tables attached. `broken` replaces observers of the same name. */
async function openShop(broken: readonly Observer[] = [], deliver = tellPurchasing(pool)): Promise<Database> {
  const { tables, observers } = shopApp(deliver);
  const replaced = observers.map((each) => broken.find(({ name }) => name === each.name) ?? each);
  const db = await open(place.location, { tables, observers: replaced, durability: "none" });
  await attachTables(db, attached);
  return db;
}

async function differences(db: Database): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { table, difference } of verify(db, pool)) {
    if (difference !== undefined) found.push(`${table}: ${difference}`);
  }
  return found;
}

test("what was there is derived, and stays equal to SQL through every action of the storm", async () => {
  await using db = await openShop();
  expect(await differences(db)).toEqual([]);
  for (const seed of [1, 2]) {
    await eachActionOnce(pool, seed);
    expect(await differences(db)).toEqual([]);
  }
  expect(await db.check()).toEqual([]);
});

test("says how far the copy is", async () => {
  await using db = await openShop();
  expect(await copyLine(db)).toMatch(/^0 of about [1-9]\d+ rows are copied\.$/);
  await db.drain();
  expect(await copyLine(db)).toBe("Every row is copied. 0 changes wait for observers.");
});

describe("a broken observer is reported:", () => {
  test("one that misses changed lines", async () => {
    const deaf = observer("order_amount", orderLines.amount_cents, () => undefined);
    await using db = await openShop([deaf]);
    await db.drain();
    await pool.query("update shop.order_lines set quantity = 6");
    const found = await differences(db);
    const [first] = found;
    expect(first).toMatch(/^counted_orders: \[\d+\] is \[\d+,"2024-.*\], but by SQL \[/);
    expect(found.some((each) => each.startsWith("customer_totals: "))).toBe(true);
    expect(found.some((each) => each.startsWith("revenue: "))).toBe(true);
  });

  test("one that skips an order, one that indexes nothing, and alerts that are lost", async () => {
    const lazy = observer("count", counted.stale, (tx, { row }) =>
      row[0] === 7 ? undefined : countOrder(tx, row),
    );
    const blind = observer(customersByToken.observer.name, customers.name, () => undefined);
    await using db = await openShop([lazy, blind], () => undefined);
    await pool.query("update shop.orders set status = 'paid' where id = 7");
    await pool.query("update shop.products set stock = 1, reorder_level = 5 where id = 1");
    const found = await differences(db);
    expect(found).toContainEqual(expect.stringMatching(/^counted_orders: \[7\] is missing, by SQL \[/));
    expect(found).toContainEqual(expect.stringMatching(/^customers_by_token: \["\w+",\d+\] is missing/));
    expect(found).toContainEqual(expect.stringMatching(/^stock_alerts: \[\d+\] is missing/));
  });

  test("a run that fails for good", async () => {
    const failing = observer(
      "count",
      counted.stale,
      () => {
        throw new Error("Out of paper.");
      },
      { attempts: 1 },
    );
    await using db = await openShop([failing]);
    expect((await differences(db)).at(-1)).toMatch(
      /^parked changes: count of \[\d+\] failed: Out of paper\./,
    );
  });
});

test("a wrong cell is reported with its row and both values", async () => {
  await using db = await openShop();
  await db.drain();
  await db.transact((tx) => tx.set(customerTotals.cents, [3], 1));
  expect(await differences(db)).toEqual([
    expect.stringMatching(/^customer_totals: \[3\] is \[\d+,1\], but by SQL \[\d+,\d+\]$/),
  ]);
  await db.transact(async (tx) => {
    await tx.deleteRow(customerTotals, [3]);
    tx.set(customerTotals.orders, [900], 1);
  });
  expect(await differences(db)).toEqual([
    expect.stringMatching(/^customer_totals: \[900\] is \[1,null\], but SQL has no such row$/),
  ]);
});

test("customers are found by the beginnings of their names, and totals are served", async () => {
  await using db = await openShop();
  await pool.query("insert into shop.customers values (901, 'Zoë van Østerholt', 'z@example.org', 'Lima')");
  await pool.query("insert into shop.customers values (902, 'Zora Vance', 'v@example.org', null)");
  await pool.query("insert into shop.orders (id, customer_id, ordered_on) values (9001, 901, '2031-05-06')");
  await pool.query(
    "insert into shop.order_lines (order_id, line_no, product_id, quantity, price_cents) values (9001, 1, 1, 2, 350)",
  );
  await db.drain();
  const names = async (query: string) => {
    await using view = await db.snapshot();
    return (await searchCustomers(view, query)).customers.map(({ name }) => name);
  };
  expect(await names("zo")).toEqual(["Zoë van Østerholt", "Zora Vance"]);
  expect(await names("van ZOE")).toEqual(["Zoë van Østerholt"]);
  expect(await names("oe")).toEqual([]);
  expect(await names("")).toEqual([]);
  await using server = await serveShop(db, 0);
  const get = async (path: string) => (await fetch(new URL(path, server.url))).json();
  expect(await get("customers?name=van%20zoe")).toEqual({
    isComplete: true,
    customers: [{ id: 901, name: "Zoë van Østerholt", city: "Lima", cents: 700 }],
  });
  expect(await get("customer?id=901")).toEqual({
    name: "Zoë van Østerholt",
    city: "Lima",
    orders: 1,
    cents: 700,
  });
  expect(await get("customer?id=x")).toBeNull();
  expect(await get("revenue?prefix=2031")).toEqual({ "2031-05-06": 700 });
  await pool.query("update shop.products set stock = 1, reorder_level = 5 where id = 1");
  await db.drain();
  expect(await get("low-stock")).toContainEqual({ id: 1, name: "Product 1", stock: 1, missing: 4 });
  expect((await fetch(new URL("nowhere", server.url))).status).toBe(404);
  await using view = await db.snapshot();
  expect(await view.get(revenue.values, "2031-05-06")).toBe(700);
});

test("a word that begins very many names hides no customer, or the result is not complete", async () => {
  await using db = await openShop();
  await pool.query("insert into shop.customers values (900, 'Ann Quxb', 'a@example.org', null)");
  await pool.query(
    "insert into shop.customers select i, 'Bob Quxa', i || '@example.org', null from generate_series(1000, 2099) i",
  );
  await db.drain();
  await using view = await db.snapshot();
  expect((await searchCustomers(view, "qux")).isComplete).toBe(false);
  const found = await searchCustomers(view, "qux ann");
  expect([found.customers.map(({ id }) => id), found.isComplete]).toEqual([[900], true]);
});
