import { type Database, int, text, tuple } from "percolatordb";
import { attach, attachTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { moveChanges } from "../../../src/postgres/attach/move.js";
import { definition } from "../../../src/schema/index.js";
import { openAlone } from "../../support/databases.js";
import { rowsOf, Shop } from "./shop.js";

/** More rows than one transaction of ours takes whole. */
const rows = 250_000;

test("small changes of other tables overtake a statement that arrives in pieces, each table in its order", async () => {
  await using shop = await Shop.create();
  await shop.sql(
    "create table T.notes (id int primary key, note text); create table T.both (id int primary key, note text)",
  );
  const { orders } = shop.declare();
  const columns = { note: text() };
  const notes = attach(`${shop.schema}.notes`, { key: tuple(int()), columns });
  const both = attach(`${shop.schema}.both`, { key: tuple(int()), columns });
  const tables = [orders, notes, both];
  await using db: Database = await openAlone(`${shop.place.location}&deadlineMs=60000`, { tables });
  await attachTables(db, tables);
  await db.drain();
  // It logs before the bulk statement has ended, and commits when the mover has listed what waits.
  const late = await shop.pool.connect();
  try {
    await late.query("begin");
    await late.query(shop.text("insert into T.notes values (1, 'late')"));
    await shop.sql(`insert into T.orders select i, null, i from generate_series(1, ${rows}) i`);
    await shop.sql("insert into T.both values (1, 'overtakes')");
    await shop.sql(
      "begin; insert into T.orders values (0, 'x', 1); update T.both set note = 'waits'; commit",
    );
    await shop.sql("update T.both set note = 'waits too'");
    const request = { database: db, store: db.openedStore, tables: tables.map((each) => each[definition]) };
    const count = async () => (await db.transact((tx) => tx.get(orders.total, [rows]))) ?? 0;
    await moveChanges(request);
    expect(await db.transact((tx) => tx.get(orders.total, [100_000]))).toBe(100_000);
    await late.query("commit");
    await shop.sql("update T.notes set note = 'after the late one'");
    await moveChanges(request);
    expect(await count()).toBe(0);
    expect(await rowsOf(db, notes)).toEqual([[1, { note: "after the late one" }]]);
    expect(await rowsOf(db, both)).toEqual([[1, { note: "overtakes" }]]);
    expect(await db.transact((tx) => tx.get(orders.total, [0]))).toBeUndefined();
  } finally {
    late.release();
  }
  await db.drain();
  expect(await rowsOf(db, both)).toEqual([[1, { note: "waits too" }]]);
  expect(await rowsOf(db, notes)).toEqual([[1, { note: "after the late one" }]]);
  const totals = await shop.sql("select count(*) from T.orders");
  expect((await rowsOf(db, orders)).length).toBe(Number(totals[0]!.count));
  expect(await shop.pending()).toBe(0);
  const moved = async (column: typeof notes.note, id: number) =>
    (await db.history(column, [id])).map(({ commitTimestamp }) => commitTimestamp).sort((a, b) => b - a)[0];
  // The transaction that waited arrived whole.
  expect(await moved(both.note, 1)).toBeGreaterThanOrEqual(
    (await db.history(orders.total, [0]))[0]!.commitTimestamp,
  );
}, 300_000);
