import type { Database } from "percolatordb";
import { attachedTables, attachTables, detachTable } from "percolatordb/postgres";
import type { PoolClient } from "pg";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { Shop, sums } from "./shop.js";

/** Attaching and detaching need a lock, and must not keep writers waiting for it. */

let shop: Shop;
let db: Database;
let orders: ReturnType<Shop["declare"]>["orders"];
let long: PoolClient;

beforeEach(async () => {
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  db = await openAlone(await storeAt(shop.place), { observers: [declared.add], tables: [orders, sums] });
  await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2)");
  long = await shop.pool.connect();
  await long.query("set application_name = 'nightly report'");
});

afterEach(async () => {
  long.release(true);
  await db.close();
  await shop[Symbol.asyncDispose]();
});

/** Begins a transaction that stays open, and holds a lock of the table. */
const hold = async (statement: string) => {
  await long.query("begin");
  await long.query(shop.text(statement));
};

/** Resolves when a request for the table's lock waits. */
const untilAsked = () =>
  vi.waitFor(
    async () => {
      const found = await shop.sql(
        "select from pg_locks where not granted and relation = $1::regclass and pid <> pg_backend_pid()",
        [`${shop.schema}.orders`],
      );
      if (found.length === 0) throw new Error("Nobody waits for the lock.");
    },
    { timeout: 60_000, interval: 2 },
  );

test("writers go on while attaching waits for the end of a long transaction", async () => {
  await hold("update T.orders set total = 9 where id = 1");
  let isAttached = false;
  const attaching = attachTables(db, [orders], { waitMs: 120_000 }).then(() => {
    isAttached = true;
  });
  await untilAsked();
  // If attaching waited without an end, these would wait behind it for the long transaction.
  for (let id = 10; id < 15; id++) await shop.sql("insert into T.orders values ($1, 'c', 1)", [id]);
  expect(isAttached).toBe(false);
  await long.query("commit");
  await attaching;
  await shop.sql("insert into T.orders values (20, 'd', 1)");
  await shop.expectEqual(db, orders);
});

test("readers and writers go on while detaching waits for the end of a long read", async () => {
  await attachTables(db, [orders]);
  await hold("select * from T.orders");
  const detaching = detachTable(db, orders, { waitMs: 120_000 });
  await untilAsked();
  for (let id = 10; id < 15; id++) {
    await shop.sql("insert into T.orders values ($1, 'c', 1)", [id]);
    await shop.sql("select count(*) from T.orders");
  }
  expect(await attachedTables(db)).toMatchObject([{ isAttached: true, parked: undefined, problems: [] }]);
  await long.query("commit");
  await detaching;
  expect(await attachedTables(db)).toEqual([]);
});

test("attaching gives up, names who is in the way, and leaves the table as it was", async () => {
  await hold("update T.orders set total = 9 where id = 1");
  const [{ pid }] = (await long.query("select pg_backend_pid() as pid")).rows;
  const reader = await shop.pool.connect();
  await reader.query("begin");
  await reader.query(shop.text("select * from T.orders"));
  const failure = await attachTables(db, [orders], { waitMs: 0 }).catch((error: unknown) => error);
  reader.release(true);
  expect(failure).toMatchObject({ code: "STORE", retryable: true });
  expect((failure as Error).message).toMatch(
    new RegExp(
      `^Could not install the triggers of .*orders" within 0 ms, because transactions of these server processes held .*orders": ${pid} \\(nightly report, for \\d+ s\\)\\. The table is unchanged\\.`,
    ),
  );
  const triggers = "select from pg_trigger where tgrelid = $1::regclass and not tgisinternal";
  expect(await shop.sql(triggers, [`${shop.schema}.orders`])).toEqual([]);
  expect(await attachedTables(db, [orders])).toMatchObject([{ isAttached: false, pending: 0 }]);
  await long.query("commit");
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
});

test("detaching that gives up also names readers, and changes are still logged", async () => {
  await attachTables(db, [orders]);
  await hold("select * from T.orders");
  await expect(detachTable(db, orders, { waitMs: 0 })).rejects.toThrow(/nightly report/);
  await shop.sql("update T.orders set total = 7 where id = 2");
  await long.query("commit");
  await shop.expectEqual(db, orders);
});

test("the wait can be aborted, and its time is checked", async () => {
  await hold("update T.orders set total = 9 where id = 1");
  const ending = new AbortController();
  const attaching = attachTables(db, [orders], { waitMs: 120_000, signal: ending.signal });
  await untilAsked();
  ending.abort(new Error("no longer needed"));
  await expect(attaching).rejects.toMatchObject({ code: "ABORTED" });
  await long.query("commit");
  const aborted = { signal: AbortSignal.abort() };
  await expect(attachTables(db, [orders], aborted)).rejects.toMatchObject({ code: "ABORTED" });
  await expect(attachTables(db, [orders], { waitMs: -1 })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect(await attachedTables(db, [orders])).toMatchObject([{ isAttached: false }]);
});
