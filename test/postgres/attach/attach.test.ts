import { type Database, float, int, json, observer, table, text, tuple } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { attach, attachTables, detachTable } from "percolatordb/postgres";
import type { PoolClient } from "pg";
import { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { newPlace, type PostgresPlace, removePlace, storeAt } from "../../support/postgres/index.js";

let place: PostgresPlace;
let pool: Pool;
let shop: string;
let shops = 0;

beforeEach(async () => {
  place = await newPlace();
  pool = new Pool({ host: place.host, user: "postgres", database: "postgres", max: 6 });
  shop = `shop_${process.pid}_${++shops}`;
  await pool.query(
    `create schema ${shop}; create table ${shop}.orders (id int primary key, customer text, total float8)`,
  );
});

afterEach(async () => {
  await pool.query(`drop schema ${shop} cascade`);
  await pool.end();
  await removePlace(place);
});

const sums = table("sums", { total: float(), runs: int() });

function declare() {
  const orders = attach(`${shop}.orders`, {
    key: tuple(int()),
    columns: { customer: text(), total: float() },
  });
  const add = observer("add", orders.total, async (tx, { value, previous }) => {
    const sum = (await tx.get(sums.total, "all")) ?? 0;
    tx.set(sums.total, "all", sum + (value ?? 0) - (previous ?? 0));
    tx.set(sums.runs, "all", ((await tx.get(sums.runs, "all")) ?? 0) + 1);
  });
  return { orders, add };
}

type Orders = ReturnType<typeof declare>["orders"];

async function rowsOf(db: Database, orders: Orders): Promise<unknown[]> {
  await using snapshot = await db.snapshot();
  const found: unknown[] = [];
  for await (const { row, value } of snapshot.scan(orders)) found.push([row[0], value]);
  return found;
}

async function expectEqual(db: Database, orders: Orders): Promise<void> {
  await db.drain();
  const { rows } = await pool.query(`select id, customer, total from ${shop}.orders order by id`);
  const expected = rows
    .map((row) => [
      row.id,
      {
        ...(row.customer === null ? {} : { customer: row.customer }),
        ...(row.total === null ? {} : { total: row.total }),
      },
    ])
    .filter(([, value]) => Object.keys(value as object).length > 0);
  expect(await rowsOf(db, orders)).toEqual(expected);
  const sum = rows.reduce((all, row) => all + (row.total ?? 0), 0);
  expect((await db.transact((tx) => tx.get(sums.total, "all"))) ?? 0).toBe(sum);
  expect(
    (await pool.query(`select count(*)::int as n from "${place.schema.replaceAll('"', '""')}".outbox`))
      .rows[0].n,
  ).toBe(0);
}

async function begin(): Promise<PoolClient> {
  const client = await pool.connect();
  await client.query("begin");
  return client;
}

async function commit(client: PoolClient): Promise<void> {
  await client.query("commit");
  client.release();
}

test("copies what is there, and then follows every kind of change", async () => {
  const { orders, add } = declare();
  await pool.query(`insert into ${shop}.orders select i, 'c' || i % 7, i from generate_series(1, 60) i`);
  await using db = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await expectEqual(db, orders);
  const statements = [
    "insert into T values (2000, 'x', 5)",
    "update T set total = total + 1 where id <= 5",
    "update T set total = total",
    "insert into T values (1, 'y', 9), (3000, null, null) on conflict (id) do update set total = excluded.total",
    "update T set id = id + 10000 where id = 3",
    "delete from T where id % 10 = 7",
    "begin; savepoint a; insert into T values (4000, 'no', 1); rollback to a; update T set total = 3 where id = 9; commit",
    "begin; delete from T where id = 10; insert into T values (10, 'again', 77); commit",
    "update T set customer = null where id = 11",
  ];
  for (const statement of statements) {
    await pool.query(statement.replaceAll("T ", `${shop}.orders `));
    await expectEqual(db, orders);
  }
  await pool.query(`begin; truncate ${shop}.orders; insert into ${shop}.orders values (1, 'new', 1); commit`);
  await expectEqual(db, orders);
  expect(await db.check()).toEqual([]);
});

test("applies transactions in the order in which they wrote their common rows", async () => {
  const { orders, add } = declare();
  await pool.query(`insert into ${shop}.orders values (1, 'a', 0), (2, 'a', 0), (3, 'a', 0)`);
  await using db = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await db.drain();
  // The second transaction has the older number and the older first row, but writes row 1 last.
  const third = await begin();
  await third.query(`update ${shop}.orders set total = 100 where id = 3`);
  const second = await begin();
  await second.query(`update ${shop}.orders set total = 20 where id = 2`);
  await pool.query(`update ${shop}.orders set total = 1 where id = 1`);
  await second.query(`update ${shop}.orders set total = 2 where id = 1`);
  await commit(second);
  await db.drain();
  // The third transaction is still running, and delays nobody.
  expect(await rowsOf(db, orders)).toEqual([
    [1, { customer: "a", total: 2 }],
    [2, { customer: "a", total: 20 }],
    [3, { customer: "a", total: 0 }],
  ]);
  await commit(third);
  await expectEqual(db, orders);
});

test("two processes move concurrently with writers: no snapshot shows half of a transaction", async () => {
  const { orders, add } = declare();
  await pool.query(`insert into ${shop}.orders select i, 'c', 0 from generate_series(0, 19) i`);
  await using db = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await db.drain();
  await using other = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
  await using _one = db.work();
  await using _two = other.work();
  let isOver = false;
  const writers = [0, 1, 2].map(async (writer) => {
    for (let i = 0; i < 60; i++) {
      const [from, to] = [(i * 7 + writer) % 20, (i * 3 + writer * 5 + 1) % 20].sort((a, b) => a - b);
      const client = await begin();
      await client.query(`update ${shop}.orders set total = total - 1 where id = ${from}`);
      await client.query(`update ${shop}.orders set total = total + 1 where id = ${to}`);
      await commit(client);
    }
  });
  const reader = (async () => {
    while (!isOver) {
      const rows = (await rowsOf(db, orders)) as [number, { total: number }][];
      expect(rows.reduce((sum, [, { total }]) => sum + total, 0)).toBe(0);
    }
  })();
  await Promise.all(writers);
  isOver = true;
  await reader;
  await expectEqual(db, orders);
});

test("a mover that dies after its commit leaves rows that are not moved again", async () => {
  const { orders, add } = declare();
  await using db = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await db.drain();
  await pool.query(`insert into ${shop}.orders values (1, 'a', 1)`);
  const outbox = `"${place.schema.replaceAll('"', '""')}".outbox`;
  const { rows } = await pool.query(`select seq, xid::text, attachment, content::text from ${outbox}`);
  expect(rows).toHaveLength(1);
  await db.drain();
  // The row comes back, as if the mover had not deleted it. Another value shows whether it is moved.
  const [{ seq, xid, attachment, content }] = rows;
  await pool.query(
    `insert into ${outbox} (seq, xid, attachment, op, content) overriding system value values ($1, $2::xid8, $3, 's', $4::json)`,
    [seq, xid, attachment, content.replace('"total":1', '"total":555')],
  );
  await expectEqual(db, orders);
  // Rows that the transaction wrote later, in another piece, are moved.
  await pool.query(
    `insert into ${outbox} (xid, attachment, op, content) values ($1::xid8, $2, 's', $3::json)`,
    [xid, attachment, content.replace('"total":1', '"total":556')],
  );
  await db.drain();
  expect(await rowsOf(db, orders)).toEqual([[1, { customer: "a", total: 556 }]]);
});

test("attaching again compares: adds, changes and prunes what changed meanwhile", async () => {
  const { orders, add } = declare();
  await pool.query(`insert into ${shop}.orders select i, 'c', i from generate_series(1, 30) i`);
  await using db = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await expectEqual(db, orders);
  await detachTable(db, orders);
  await expect(db.drain()).rejects.toThrow(/is not attached to this database yet/);
  await pool.query(
    `delete from ${shop}.orders where id < 5; update ${shop}.orders set total = 99 where id = 6`,
  );
  await pool.query(`insert into ${shop}.orders values (100, 'new', 1)`);
  await attachTables(db, [orders]);
  await expectEqual(db, orders);
});

test("a table may be attached while another process takes its number", async () => {
  const { orders } = declare();
  const outbox = `"${place.schema.replaceAll('"', '""')}"`;
  await pool.query(`create table ${shop}.first (id int primary key, total float8)`);
  const first = attach(`${shop}.first`, { key: tuple(int()), columns: { total: float() } });
  await using db = await openAlone(await storeAt(place), { tables: [orders, first] });
  await attachTables(db, [first]);
  const other = await begin();
  const insert = `insert into ${outbox}.attachments (source, name, definition) values ($1, 'orders', '')`;
  await other.query(insert, [`"${shop}"."orders"`]);
  const attaching = attachTables(db, [orders]);
  attaching.catch(() => undefined);
  const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and strpos(query, $1) > 0";
  await expect.poll(async () => (await pool.query(waiting, [`${outbox}.attachments`])).rowCount).toBe(1);
  await commit(other);
  await attaching;
  await expectEqual(db, orders);
});

test("a large update arrives in one transaction", async () => {
  const { orders } = declare();
  await pool.query(`insert into ${shop}.orders select i, 'c', 0 from generate_series(1, 5000) i`);
  await using db = await openAlone(await storeAt(place), { tables: [orders, sums] });
  await attachTables(db, [orders]);
  await db.drain();
  await pool.query(`update ${shop}.orders set total = 1`);
  await db.drain();
  const times = new Set<number>();
  for (const id of [1, 2500, 5000]) times.add((await db.history(orders.total, [id]))[0]!.commitTimestamp);
  expect(times.size).toBe(1);
});

test("the outbox, from which everything is deleted again, is vacuumed early", async () => {
  const { orders } = declare();
  await using db = await openAlone(await storeAt(place), { tables: [orders] });
  await attachTables(db, [orders]);
  const outbox = `"${place.schema.replaceAll('"', '""')}".outbox`;
  const { rows } = await pool.query("select reloptions from pg_class where oid = to_regclass($1)", [outbox]);
  expect(rows).toEqual([
    { reloptions: ["autovacuum_vacuum_scale_factor=0.02", "autovacuum_vacuum_insert_scale_factor=0.05"] },
  ]);
});

describe("bad input", () => {
  test("programs cannot write an attached table", async () => {
    const { orders } = declare();
    await using db = await openAlone(await storeAt(place), { tables: [orders] });
    await attachTables(db, [orders]);
    const refused = /Table orders is read-only, because its rows come from the SQL table/;
    await expect(db.transact((tx) => tx.set(orders.total, [1], 1))).rejects.toThrow(refused);
    await expect(db.transact((tx) => tx.delete(orders.total, [1]))).rejects.toThrow(refused);
    await expect(db.transact((tx) => tx.deleteRow(orders, [1]))).rejects.toThrow(refused);
  });

  test("a store that is not PostgreSQL", async () => {
    const { orders } = declare();
    await using db = await openAlone(memoryStore(), { tables: [orders] });
    await expect(attachTables(db, [orders])).rejects.toThrow(/need a database on PostgreSQL/);
  });

  test.each(["orders", 'public.orders"; drop table x; --', "a.b.c", "", 'public."x', "public.Orders"])(
    "the name %j",
    (name) => {
      expect(() => attach(name, { columns: { a: text() } })).toThrow(/takes a schema and a table/);
    },
  );

  test("quoted names mean what they say", async () => {
    await pool.query(`create table ${shop}."we""ird; drop" ("a ""key" text primary key, v json)`);
    const weird = attach(`${shop}."we""ird; drop"`, { name: "weird", columns: { v: json<unknown>() } });
    await using db = await openAlone(await storeAt(place), { tables: [weird] });
    await attachTables(db, [weird]);
    await pool.query(`insert into ${shop}."we""ird; drop" values ('x', '{"a": 12345678901}')`);
    await pool.query(`update ${shop}."we""ird; drop" set v = '[1]'`);
    await db.drain();
    expect(await db.transact((tx) => tx.get(weird.v, "x"))).toEqual([1]);
  });

  test.each([
    ["no table", "", /There is no table/],
    ["a view", "create view T as select 1 as id", /is a view/],
    [
      "a partitioned table",
      "create table T (id int primary key, a text) partition by range (id)",
      /is a partitioned table/,
    ],
    ["no primary key", "create table T (id int, a text)", /has no primary key/],
    [
      "a wide key",
      "create table T (id int, b int, a text, primary key (id, b))",
      /has 2 columns, but `key` has 1/,
    ],
    [
      "a key of another type",
      "create table T (id numeric primary key, a text)",
      /column id: its type numeric does not fit/,
    ],
    ["an unknown column", "create table T (id int primary key)", /has no column "a"/],
    [
      "a column of another type",
      "create table T (id int primary key, a text)",
      /column a: its type text does not fit int/,
    ],
  ])("%s", async (what, definition, message) => {
    if (definition !== "") await pool.query(definition.replace("T", `${shop}.bad`));
    const a = what === "a column of another type" ? int() : text();
    const bad = attach(`${shop}.bad`, { key: tuple(int()), columns: { a } });
    await using db = await openAlone(await storeAt(place), { tables: [bad] });
    await expect(attachTables(db, [bad])).rejects.toThrow(message);
    const { rows } = await pool.query("select to_regclass($1) as t", [
      `"${place.schema.replaceAll('"', '""')}".outbox`,
    ]);
    expect(rows[0].t).toBeNull();
  });

  test("a dropped column stops the mover with a named error, and attaching again continues", async () => {
    const { orders, add } = declare();
    await using db = await openAlone(await storeAt(place), { observers: [add], tables: [orders, sums] });
    await attachTables(db, [orders]);
    await pool.query(`alter table ${shop}.orders add more text`);
    await pool.query(`insert into ${shop}.orders values (1, 'a', 1)`);
    await expectEqual(db, orders);
    await pool.query(`alter table ${shop}.orders drop customer`);
    await pool.query(`insert into ${shop}.orders (id, total) values (2, 2)`);
    await expect(db.drain()).rejects.toThrow(/orders" has no column "customer" any more/);
    await pool.query(`alter table ${shop}.orders add customer text`);
    await attachTables(db, [orders]);
    await expectEqual(db, orders);
  });
});

test("an enum of a schema whose name begins with `text` can be the key", async () => {
  const types = `texts_${process.pid}`;
  await pool.query(`create schema ${types}; create type ${types}.size as enum ('small', 'large');
    create table ${shop}.stock (size ${types}.size primary key, pieces int);
    insert into ${shop}.stock values ('small', 1)`);
  try {
    const stock = attach(`${shop}.stock`, { key: tuple(text()), columns: { pieces: int() } });
    await using db = await openAlone(await storeAt(place), { tables: [stock] });
    await attachTables(db, [stock]);
    await db.drain();
    expect(await db.transact((tx) => tx.get(stock.pieces, ["small"]))).toBe(1);
  } finally {
    await pool.query(`drop table ${shop}.stock; drop schema ${types} cascade`);
  }
});
