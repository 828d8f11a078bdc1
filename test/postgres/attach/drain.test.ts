import { attachTables } from "percolatordb/postgres";
import { Pool } from "pg";
import { expect, test } from "vitest";
import { markChanges } from "../../../src/postgres/attach/mark.js";
import { moveChanges } from "../../../src/postgres/attach/move.js";
import { definition } from "../../../src/schema/index.js";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { Shop } from "./shop.js";

test("a drain moves what was committed before it, and does not wait for writers that outrun it", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const [rows, burstRows, maxBursts] = [1_200, 1_100, 80];
  await shop.sql(`insert into T.orders select id, 'a', 1 from generate_series(1, ${rows}) id`);
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
  await attachTables(db, [orders]);
  // Each commit of the library appends more orders than one commit moves or copies. So these writers
  // are faster than the mover on every machine. They end at last, so that a failure ends too.
  await shop.sql(`create sequence T.bursts;
    create function T.burst() returns trigger language plpgsql as $$
      declare burst bigint := nextval('T.bursts');
      begin
        if burst <= ${maxBursts} then
          insert into T.orders select ${rows} + (burst - 1) * ${burstRows} + i, 'a', 1
            from generate_series(1, ${burstRows}) i;
        end if;
        return null;
      end $$;
    create trigger burst after insert on P.cells for each statement execute function T.burst()`);
  const before = (await shop.sql("select id from T.orders")).map((row) => [row.id as number] as const);
  await db.drain();
  const bursts = Number((await shop.sql("select last_value from T.bursts"))[0]!.last_value);
  expect(bursts).toBeGreaterThan(2);
  expect(bursts).toBeLessThan(maxBursts);
  const totals = await db.transact((tx) => tx.getMany(orders.total, before));
  expect(totals).toEqual(before.map(() => 1));
});

test.each([
  { what: "small transactions", withLong: false },
  { what: "a long transaction that logged before them and commits after them", withLong: true },
])("the cost of a change does not grow with the backlog: $what", async ({ withLong }) => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const count = 10_000;
  const db = await openAlone(await storeAt(shop.place), { tables: [orders] });
  const other = new Pool({ host: shop.place.host, user: "postgres", database: "postgres", max: 1 });
  try {
    await attachTables(db, [orders]);
    // The server must not keep the plans that it made for an empty outbox, or without statistics.
    await shop.sql("alter table P.outbox set (autovacuum_enabled = false)");
    await db.drain();
    const insert = (from: number, rows: number) =>
      shop.text(
        `insert into T.orders select id, 'a', 1 from generate_series(${from}, ${from + rows - 1}) id`,
      );
    await other.query("begin");
    if (withLong) await other.query(insert(count + 1, 2_500));
    await shop.sql(`create procedure T.fill() language plpgsql as $$
      begin for id in 1..${count} loop insert into T.orders values (id, 'a', 1); commit; end loop; end $$`);
    await shop.sql("call T.fill()");
    if (withLong) await other.query(insert(2 * count, 1));
    await other.query("commit");
    await db.drain();
    expect(await db.transact((tx) => tx.get(orders.total, [count]))).toBe(1);
  } finally {
    await other.end();
    // The server counts what a connection has read at the latest when it ends.
    await db.close();
  }
  const reads = async () => {
    const rows = await shop.sql(
      "select seq_tup_read + idx_tup_fetch as n from pg_stat_user_tables where schemaname = $1 and relname = 'outbox'",
      [shop.place.schema],
    );
    return Number(rows[0]!.n);
  };
  await expect.poll(reads).toBeGreaterThan(count);
  expect(await reads()).toBeLessThan(20 * count);
});

test("a drain does not wait for a transaction that was under way when it began", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
  await attachTables(db, [orders]);
  await db.drain();
  const request = { database: db, store: db.openedStore, tables: [orders[definition]] };
  const underWay = await shop.pool.connect();
  try {
    await underWay.query("begin");
    await underWay.query(shop.text("insert into T.orders values (1, 'a', 1)"));
    await shop.sql("insert into T.orders values (2, 'a', 1)");
    const areMoved = await markChanges(request);
    expect(await areMoved()).toBe(false);
    while ((await moveChanges(request)).moved);
    await underWay.query("commit");
    expect(await shop.pending()).toBe(1);
    expect(await areMoved()).toBe(true);
  } finally {
    underWay.release();
  }
});

test("what a process remembers of a backlog is forgotten when another process has moved it", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const options = { tables: [orders] };
  await using db = await openAlone(await storeAt(shop.place), options);
  await using other = await openAlone(await storeAt(shop.place), options);
  await attachTables(db, [orders]);
  const long = await shop.pool.connect();
  try {
    await long.query("begin");
    await long.query(shop.text("insert into T.orders select id, 'a', 1 from generate_series(3001, 5500) id"));
    await shop.sql(`create procedure T.fill() language plpgsql as $$
      begin for id in 1..3000 loop insert into T.orders values (id, 'a', 1); commit; end loop; end $$`);
    await shop.sql("call T.fill()");
    await long.query(shop.text("update T.orders set total = 2 where id = 1 or id = 4000"));
    await long.query("commit");
  } finally {
    long.release();
  }
  // The first process lists the transactions, and moves some. The other one moves the rest.
  const request = { database: db, store: db.openedStore, tables: [orders[definition]] };
  expect((await moveChanges(request)).moved).toBe(true);
  expect(await shop.pending()).toBeGreaterThan(2_500);
  await other.drain();
  await shop.sql("insert into T.orders values (6000, 'a', 3)");
  await db.drain();
  const rows = await shop.sql("select id, total from T.orders order by id");
  const totals = await db.transact((tx) =>
    tx.getMany(
      orders.total,
      rows.map(({ id }) => [id as number] as const),
    ),
  );
  expect(totals).toEqual(rows.map(({ total }) => total));
});

test("a mover does not rest while transactions wait that it has not looked at", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
  await attachTables(db, [orders]);
  await db.drain();
  // It looks at 2,000 rows, so at one whole transaction.
  for (const first of [1, 1_501, 3_001]) {
    await shop.sql(
      "insert into T.orders select id, 'a', 1 from generate_series($1::int, $1::int + 1499) id",
      [first],
    );
  }
  const request = { database: db, store: db.openedStore, tables: [orders[definition]] };
  expect(await moveChanges(request)).toMatchObject({ moved: true, restMs: 0 });
});
