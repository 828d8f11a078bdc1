import { type Database, float, int, open, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, detachTable, postgresStore } from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Environment, systemEnvironment } from "../../../src/environment/index.js";
import { moveChanges } from "../../../src/postgres/attach/move.js";
import { definition } from "../../../src/schema/index.js";
import { connectionLost, FaultyPool } from "../faulty-pool.js";
import { Shop } from "./shop.js";

let shop: Shop;
let pool: FaultyPool;
let db: Database;
let orders: ReturnType<Shop["declare"]>["orders"];
let other: ReturnType<typeof declareOther>;
let nowMs: number;

const declareOther = () => attach(`${shop.schema}.other`, { key: tuple(int()), columns: { total: float() } });

beforeEach(async () => {
  shop = await Shop.create();
  await shop.sql("create table T.other (id int primary key, total float8)");
  pool = new FaultyPool(shop.place.host);
  nowMs = 0;
  const environment: Environment = { ...systemEnvironment, monotonic: () => nowMs };
  orders = shop.declare().orders;
  other = declareOther();
  const store = await postgresStore({ pool, schema: shop.place.schema, environment });
  db = await open(store, { tables: [orders, other], collectEveryMs: 0 });
  await attachTables(db, [orders, other]);
  await db.drain();
});

afterEach(async () => {
  pool.interfere = (_, send) => send();
  await db.close();
  await pool.end();
  await shop[Symbol.asyncDispose]();
});

const isPurge = ({ text }: { readonly text: string }) => text.includes("gone as (delete");
const move = () =>
  moveChanges({
    database: db,
    store: db.openedStore,
    tables: [orders, other].map((each) => each[definition]),
  });

test("a detach that was interrupted can be repeated", async () => {
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  pool.interfere = (query, send) => {
    if (!isPurge(query)) return send();
    // The last attempt: the deadline has passed.
    nowMs += 60_000;
    return Promise.reject(connectionLost());
  };
  await expect(detachTable(db, orders)).rejects.toMatchObject({ code: "STORE" });
  pool.interfere = (_, send) => send();
  expect(await attachedTables(db)).toMatchObject([
    { name: "orders", parked: { error: expect.stringContaining("Repeat it") } },
    { name: "other", parked: undefined },
  ]);
  await detachTable(db, orders);
  expect(await shop.pending()).toBe(0);
  expect(await attachedTables(db)).toMatchObject([{ name: "other" }]);
});

test("a table that was attached again meanwhile stays attached", async () => {
  pool.interfere = async (query, send) => {
    if (isPurge(query)) {
      pool.interfere = (_, pass) => pass();
      await attachTables(db, [orders]);
    }
    return await send();
  };
  await detachTable(db, orders);
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  await db.drain();
  expect(await db.transact((tx) => tx.get(orders.total, [1]))).toBe(1);
});

test("changes that an attach or a detach has left are deleted by the next move", async () => {
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  // As an attach that was killed before it deleted them, and a detach of an earlier version.
  await shop.sql(`update P.attachments set since = (select max(seq) from P.outbox), generation = generation + 1;
    insert into P.outbox (attachment, op) select 1 + max(id), 't' from P.attachments`);
  await db.drain();
  expect(await shop.pending()).toBe(0);
});

test("while many changes wait and a table is parked, the outbox is not read whole in each move", async () => {
  await shop.sql("alter table T.other drop total");
  await expect(db.drain()).rejects.toThrow(/parked/);
  for (let i = 0; i < 12; i++) {
    await shop.sql(
      `insert into T.orders select i, 'a', 1 from generate_series(${i * 500 + 1}, ${i * 500 + 500}) i`,
    );
  }
  let purges = 0;
  pool.interfere = (query, send) => {
    if (isPurge(query)) purges++;
    return send();
  };
  for (let i = 0; i < 3; i++) await move();
  expect(purges).toBe(0);
  nowMs += 10_000;
  await move();
  expect(purges).toBe(1);
});

/** Logs changes that nobody needs, as of a detached table. */
const addObsolete = (count: number) =>
  shop.sql(`insert into P.outbox (attachment, op) select 0, 't' from generate_series(1, $1::integer)`, [
    count,
  ]);

test("attaching and detaching end while another table is parked and written, and movers rest", async () => {
  await shop.sql("alter table T.other drop total");
  await expect(db.drain()).rejects.toThrow(/parked/);
  let purges = 0;
  pool.interfere = async (query, send) => {
    // A writer of the parked table commits a row while changes are deleted.
    if (isPurge(query) && ++purges < 10) await shop.sql(`insert into T.other values (${purges})`);
    return await send();
  };
  expect(await move()).toMatchObject({ moved: false });
  expect(purges).toBe(1);
  await attachTables(db, [orders]);
  expect(purges).toBe(2);
  await detachTable(db, orders);
  expect(purges).toBe(3);
});

test("all obsolete changes are deleted, also those of several pieces", async () => {
  await addObsolete(20_000);
  await attachTables(db, [orders]);
  expect(await shop.pending()).toBe(0);
});

test("an aborted signal ends the deletion of obsolete changes after a piece", async () => {
  await addObsolete(10_001);
  const controller = new AbortController();
  pool.interfere = (query, send) => {
    if (isPurge(query)) controller.abort();
    return send();
  };
  await expect(detachTable(db, orders, { signal: controller.signal })).rejects.toMatchObject({
    code: "ABORTED",
  });
  expect(await shop.pending()).toBe(1);
});

test("a detach deletes all changes, although another process deletes some at the same time", async () => {
  await addObsolete(10_001);
  pool.interfere = async (query, send) => {
    if (!isPurge(query)) return await send();
    pool.interfere = (_, pass) => pass();
    const other = await shop.pool.connect();
    try {
      const [{ pid }] = (await other.query("select pg_backend_pid() as pid")).rows;
      await other.query("begin");
      await other.query(query.text);
      const answer = send();
      // The detach has chosen the same rows, and waits for their locks.
      const waiting = () =>
        shop.sql("select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))", [pid]);
      await expect.poll(waiting).toHaveLength(1);
      await other.query("commit");
      return await answer;
    } finally {
      other.release(true);
    }
  };
  await detachTable(db, orders);
  expect(await shop.pending()).toBe(0);
});

test("a table is attached, although a detach by another process ends meanwhile", async () => {
  let isDetached = false;
  pool.interfere = async (query, send) => {
    // The attach has reserved its row, and is about to take the table's lock.
    if (query.text.includes("create or replace trigger")) {
      pool.interfere = (_, pass) => pass();
      await detachTable(db, orders);
      isDetached = true;
    }
    return await send();
  };
  await attachTables(db, [orders]);
  expect(isDetached).toBe(true);
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  await db.drain();
  expect(await db.transact((tx) => tx.get(orders.total, [1]))).toBe(1);
  expect(await shop.pending()).toBe(0);
});
