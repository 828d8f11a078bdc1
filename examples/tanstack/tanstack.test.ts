import { count, createLiveQueryCollection, eq, sum } from "@tanstack/db";
import { TestClock } from "percolatordb/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { until } from "../../test/support/waiting.js";
import { orders } from "./tables.js";
import { commitsOf, itemsOf, TestShop } from "./test-shop.js";

describe("a collection over a feed", () => {
  test("begins with a snapshot, and follows changes", async () => {
    await using shop = await TestShop.open();
    await shop.addOrder("o1", "c1", 30);
    await shop.addOrder("o2", "c1", 5);
    await shop.orders.preload();
    expect(itemsOf(shop.orders)).toEqual([
      { row: "o1", customer: "c1", total: 30 },
      { row: "o2", customer: "c1", total: 5 },
    ]);
    const commits = commitsOf(shop.orders);
    await shop.setTotal("o1", 31);
    await shop.addOrder("o3", "c2", 7);
    expect(await until(() => commits.length === 2)).toBe(true);
    expect(commits).toEqual([["o1 update c1 31 -"], ["o3 insert c2 7 -"]]);
    expect(shop.orders.size).toBe(3);
  });

  test("is ready when there is nothing", async () => {
    await using shop = await TestShop.open();
    await shop.orders.preload();
    expect([shop.orders.status, shop.orders.size]).toEqual(["ready", 0]);
  });

  test("has the types of the table", async () => {
    await using shop = await TestShop.open();
    await shop.addOrder("o1", "c1", 1);
    await shop.orders.preload();
    const order = shop.orders.get("o1");
    expectTypeOf(order!.row).toEqualTypeOf<string>();
    expectTypeOf(order!.total).toEqualTypeOf<number | undefined>();
    expectTypeOf(order!.state).toEqualTypeOf<string | undefined>();
    // @ts-expect-error: the table has no such column.
    expect(order?.price).toBeUndefined();
    const wrong = { row: "o1", total: "1" };
    // @ts-expect-error: a total is a number.
    expectTypeOf(shop.orders.insert).toBeCallableWith(wrong);
  });

  test("commits a transaction at once, with one change for each row", async () => {
    await using shop = await TestShop.open();
    await shop.addOrder("o1", "c1", 1);
    await shop.addOrder("o2", "c1", 2);
    await shop.orders.preload();
    const commits = commitsOf(shop.orders);
    await shop.db.transact(async (tx) => {
      tx.set(orders.total, "o1", 11);
      tx.set(orders.state, "o1", "paid");
      tx.set(orders.customer, "o1", "c2");
      await tx.deleteRow(orders, "o2");
      tx.set(orders.total, "o3", 3);
      tx.set(orders.state, "o3", "open");
    });
    expect(await until(() => commits.length > 0)).toBe(true);
    expect(commits).toEqual([["o1 update c2 11 paid", "o2 delete c1 2 -", "o3 insert - 3 open"]]);
  });

  test("removes a deleted column, a row with its last column, and takes it again", async () => {
    await using shop = await TestShop.open();
    await shop.addOrder("o1", "c1", 1);
    await shop.orders.preload();
    const commits = commitsOf(shop.orders);
    await shop.db.transact((tx) => tx.delete(orders.customer, "o1"));
    await shop.db.transact((tx) => tx.delete(orders.total, "o1"));
    // Changes nothing that the collection has.
    await shop.db.transact((tx) => tx.delete(orders.state, "o1"));
    await shop.setTotal("o1", 2);
    expect(await until(() => commits.length === 3)).toBe(true);
    expect(commits).toEqual([["o1 update - 1 -"], ["o1 delete - 1 -"], ["o1 insert - 2 -"]]);
  });

  test("feeds live queries that join and aggregate two collections", async () => {
    await using shop = await TestShop.open();
    await shop.addCustomer("c1", "Ada", "London");
    await shop.addCustomer("c2", "Alan", "London");
    await shop.addCustomer("c3", "Barbara", "Boston");
    await shop.addOrder("o1", "c1", 30);
    await shop.addOrder("o2", "c2", 5);
    await shop.addOrder("o3", "c3", 7);
    const cities = createLiveQueryCollection((query) =>
      query
        .from({ order: shop.orders })
        .join(
          { customer: shop.customers },
          ({ order, customer }) => eq(order.customer, customer.row),
          "inner",
        )
        .groupBy(({ customer }) => customer.city)
        .select(({ order, customer }) => ({
          city: customer.city,
          total: sum(order.total),
          orders: count(order.row),
        }))
        .orderBy(({ customer }) => customer.city),
    );
    await cities.preload();
    const shown = () => itemsOf(cities);
    expect(shown()).toEqual([
      { city: "Boston", total: 7, orders: 1 },
      { city: "London", total: 35, orders: 2 },
    ]);
    await shop.setTotal("o3", 8);
    await shop.addOrder("o4", "c2", 1);
    await expect.poll(shown).toEqual([
      { city: "Boston", total: 8, orders: 1 },
      { city: "London", total: 36, orders: 3 },
    ]);
    await shop.addCustomer("c3", "Barbara", "London");
    await expect.poll(shown).toEqual([{ city: "London", total: 44, orders: 4 }]);
    await cities.cleanup();
  });
});

describe("when the connection ends", () => {
  test("a collection goes on after the last transaction that it has", async () => {
    await using shop = await TestShop.open();
    await shop.addOrder("o1", "c1", 1);
    await shop.orders.preload();
    const commits = commitsOf(shop.orders);
    await shop.setTotal("o1", 2);
    expect(await until(() => commits.length === 1)).toBe(true);
    await shop.stopServer();
    await shop.setTotal("o1", 3);
    await shop.addOrder("o2", "c1", 4);
    expect(await until(() => shop.errors.length > 0)).toBe(true);
    await shop.startServer();
    expect(await until(() => commits.length === 3)).toBe(true);
    expect(commits).toEqual([["o1 update c1 2 -"], ["o1 update c1 3 -"], ["o2 insert c1 4 -"]]);
    expect(shop.lastEventIds[0]).toBe(null);
    expect(shop.lastEventIds.at(-1)).toMatch(/^\d+$/);
    expect(shop.orders.status).toBe("ready");
  });

  test("a collection is replaced if the feed no longer has its changes", async () => {
    const clock = new TestClock();
    await using shop = await TestShop.open({ environment: clock.process(), retentionMs: 60_000 });
    await shop.addOrder("o1", "c1", 1);
    await shop.addOrder("o2", "c1", 2);
    await shop.orders.preload();
    const commits = commitsOf(shop.orders);
    await shop.stopServer();
    await shop.db.transact(async (tx) => await tx.deleteRow(orders, "o1"));
    await clock.advance(2 * 3_600_000);
    await shop.addOrder("o3", "c1", 3);
    await shop.db.collect();
    await shop.startServer();
    expect(await until(() => shop.orders.has("o3"))).toBe(true);
    expect(itemsOf(shop.orders)).toEqual([
      { row: "o2", customer: "c1", total: 2 },
      { row: "o3", customer: "c1", total: 3 },
    ]);
    // One commit: nobody sees the collection empty.
    expect(commits).toHaveLength(1);
    await shop.setTotal("o2", 20);
    expect(await until(() => commits.length === 2)).toBe(true);
    expect(commits[1]).toEqual(["o2 update c1 20 -"]);
  });

  test("cleanup ends the connection, and a later use begins again", async () => {
    await using shop = await TestShop.open();
    await shop.addOrder("o1", "c1", 1);
    await shop.orders.preload();
    expect(shop.sending).toBe(1);
    await shop.orders.cleanup();
    expect(await until(() => shop.sending === 0)).toBe(true);
    await shop.addOrder("o2", "c1", 2);
    await shop.orders.preload();
    expect(shop.orders.size).toBe(2);
    expect(shop.errors).toEqual([]);
  });
});
