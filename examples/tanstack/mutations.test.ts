import { describe, expect, test } from "vitest";
import { pause, until } from "../../test/support/waiting.js";
import { WriteRefusedError } from "./send.js";
import { orders } from "./tables.js";
import { commitsOf, itemsOf, TestShop } from "./test-shop.js";

/** Opens a shop with one customer and one order, whose collection is ready. */
async function openShop(): Promise<TestShop> {
  const shop = await TestShop.open();
  await shop.addCustomer("c1", "Ada", "London");
  await shop.addOrder("o1", "c1", 1);
  await shop.orders.preload();
  return shop;
}

/** Lets everything happen that waits for no other program. */
const turns = () => pause(20);

describe("an optimistic mutation", () => {
  test("is shown at once, and kept until its change has come back", async () => {
    await using shop = await openShop();
    const commits = commitsOf(shop.orders);
    shop.gate.close();
    const inserted = shop.orders.insert({ row: "o2", customer: "c1", total: 2 });
    const updated = shop.orders.update("o1", (order) => {
      order.total = 3;
    });
    expect(itemsOf(shop.orders)).toEqual([
      { row: "o1", customer: "c1", total: 3 },
      { row: "o2", customer: "c1", total: 2 },
    ]);
    expect(await until(() => shop.answered === 2)).toBe(true);
    await turns();
    // The server has committed both, but nothing of it has come back.
    expect(await shop.stored()).toEqual(itemsOf(shop.orders));
    expect([inserted.state, updated.state]).toEqual(["persisting", "persisting"]);
    expect(shop.orders.get("o2")?.$synced).toBe(false);
    shop.gate.open();
    await Promise.all([inserted.isPersisted.promise, updated.isPersisted.promise]);
    expect(shop.orders.get("o1")).toMatchObject({ total: 3, $synced: true });
    expect(shop.orders.get("o2")).toMatchObject({ total: 2, $synced: true });
    // No moment was without them.
    expect(commits.flat().map((change) => change.split(" ").slice(0, 2).join(" "))).not.toContain(
      "o2 delete",
    );
    expect(new Set(commits.flat())).toEqual(
      new Set(["o1 update c1 3 -", "o2 insert c1 2 -", "o2 update c1 2 -"]),
    );
  });

  test("deletes a row, and a column of a row", async () => {
    await using shop = await openShop();
    const inserted = shop.orders.insert({ row: "o2", customer: "c1", total: 2, state: "open" });
    await inserted.isPersisted.promise;
    const updated = shop.orders.update("o2", (order) => {
      delete order.state;
    });
    await updated.isPersisted.promise;
    const deleted = shop.orders.delete("o1");
    expect(shop.orders.has("o1")).toBe(false);
    await deleted.isPersisted.promise;
    expect(await shop.stored()).toEqual([{ row: "o2", customer: "c1", total: 2 }]);
    expect(itemsOf(shop.orders)).toEqual([{ row: "o2", customer: "c1", total: 2 }]);
  });

  test("sends only the columns that it has changed", async () => {
    await using shop = await openShop();
    await shop.addCustomer("c2", "Alan", "London");
    shop.gate.close();
    // The collection does not have this change yet, and must not take it back.
    await shop.db.transact((tx) => tx.set(orders.customer, "o1", "c2"));
    const updated = shop.orders.update("o1", (order) => {
      order.total = 9;
    });
    expect(await until(() => shop.answered === 1)).toBe(true);
    shop.gate.open();
    await updated.isPersisted.promise;
    expect(itemsOf(shop.orders)).toEqual([{ row: "o1", customer: "c2", total: 9 }]);
  });

  test("of several rows is one transaction of the database", async () => {
    await using shop = await openShop();
    const made = shop.orders.insert([
      { row: "o2", customer: "c1", total: 2 },
      { row: "o3", customer: "c1", total: 3 },
    ]);
    await made.isPersisted.promise;
    expect(await committed(shop, "o2")).toBe(await committed(shop, "o3"));
    const refused = shop.orders.insert([
      { row: "o4", customer: "c1", total: 4 },
      { row: "o5", customer: "c1", total: -1 },
    ]);
    await expect(refused.isPersisted.promise).rejects.toThrow("The total of o5 is less than 0.");
    expect((await shop.stored()).length).toBe(3);
    expect(shop.orders.size).toBe(3);
  });

  test("that the server refuses is rolled back", async () => {
    await using shop = await openShop();
    const refused = shop.orders.update("o1", (order) => {
      order.total = -5;
    });
    expect(shop.orders.get("o1")?.total).toBe(-5);
    const error: unknown = await refused.isPersisted.promise.catch((error: unknown) => error);
    expect(error).toBeInstanceOf(WriteRefusedError);
    expect(error).toMatchObject({
      code: "BAD_TOTAL",
      status: 422,
      message: "The total of o1 is less than 0.",
    });
    expect(itemsOf(shop.orders)).toEqual([{ row: "o1", customer: "c1", total: 1 }]);
    expect(await shop.stored()).toEqual(itemsOf(shop.orders));
  });

  test("is rolled back if the server cannot be reached", async () => {
    await using shop = await openShop();
    await shop.stopServer();
    const failed = shop.orders.insert({ row: "o2", customer: "c1", total: 2 });
    await expect(failed.isPersisted.promise).rejects.toThrow("fetch failed");
    expect(shop.orders.size).toBe(1);
  });

  test("is confirmed at the latest when the collection ends", async () => {
    await using shop = await openShop();
    shop.gate.close();
    const made = shop.orders.insert({ row: "o2", customer: "c1", total: 2 });
    expect(await until(() => shop.answered === 1)).toBe(true);
    await turns();
    expect(made.state).toBe("persisting");
    await shop.orders.cleanup();
    await made.isPersisted.promise;
    shop.gate.open();
    await shop.orders.preload();
    await shop.orders.utils.received(await committed(shop, "o2"));
    expect(shop.orders.get("o2")).toMatchObject({ total: 2, $synced: true });
  });

  test("that JSON cannot hold fails before it is sent", async () => {
    await using shop = await openShop();
    const failed = shop.orders.insert({ row: "o2", customer: "c1", total: Number.NaN });
    await expect(failed.isPersisted.promise).rejects.toThrow(
      'The value of orders.total in the row "o2" cannot be sent as JSON.',
    );
    expect([shop.answered, shop.orders.size]).toEqual([0, 1]);
  });
});

describe("the server refuses", () => {
  const insert = {
    type: "insert",
    table: "orders",
    row: "o2",
    values: { customer: "c1", total: 2 },
    removed: [],
  };
  test.each<[string, string, unknown, string]>([
    ["no mutations", "INVALID_BODY", { mutations: [] }, "The body is invalid"],
    ["too many", "INVALID_BODY", { mutations: Array(1_001).fill(insert) }, "mutations"],
    ["a body that is no JSON", "INVALID_BODY", undefined, "The body is invalid"],
    ["a type of its own", "INVALID_BODY", one({ ...insert, type: "replace" }), "mutations[0].type"],
    ["an unknown table", "UNKNOWN_TABLE", one({ ...insert, table: "users" }), "Clients may not write users."],
    [
      "an unknown column",
      "UNKNOWN_COLUMN",
      one({ ...insert, values: { price: 1 } }),
      "not write orders.price.",
    ],
    ["a value of another type", "INVALID_VALUE", one({ ...insert, values: { total: "2" } }), "total"],
    ["a key of another type", "INVALID_KEY", one({ ...insert, row: 2 }), "key"],
    [
      "a row that exists",
      "ROW_EXISTS",
      one({ ...insert, row: "o1" }),
      'The row "o1" of orders exists already.',
    ],
    [
      "a row without values",
      "NO_VALUES",
      one({ ...insert, values: {} }),
      "needs a value in at least one column",
    ],
    ["an update of no row", "ROW_MISSING", one({ ...insert, type: "update" }), "does not exist"],
    ["a deletion of no row", "ROW_MISSING", one({ ...insert, type: "delete" }), "does not exist"],
    ["what breaks a rule", "NO_CUSTOMER", one({ ...insert, values: { customer: "c9" } }), "does not exist"],
  ])("%s", async (_, code, body, message) => {
    await using shop = await openShop();
    const before = await shop.stored();
    const response = await shop.post(body);
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({ code, message: expect.stringContaining(message) });
    expect(await shop.stored()).toEqual(before);
  });

  test("what a page of another origin may send without being asked", async () => {
    await using shop = await openShop();
    const before = await shop.stored();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "text/plain; application/json"])
      expect((await shop.post(one(insert), type)).status).toBe(415);
    expect(await shop.stored()).toEqual(before);
  });

  test("a body that is too large", async () => {
    await using shop = await openShop();
    const response = await shop.post(one({ ...insert, values: { state: "x".repeat(1_100_000) } }));
    expect(response.status).toBe(413);
  });

  test("without details of what has failed inside", async () => {
    await using shop = await openShop();
    await shop.db.close();
    const response = await shop.post(one(insert));
    expect([response.status, await response.json()]).toEqual([
      500,
      { code: "INTERNAL", message: "The server failed." },
    ]);
  });
});

function one(mutation: object): object {
  return { mutations: [mutation] };
}

/** The timestamp of the last commit that has written an order's total. */
async function committed(shop: TestShop, row: string): Promise<number> {
  const [newest] = await shop.db.history(orders.total, row);
  return newest!.commitTimestamp;
}
