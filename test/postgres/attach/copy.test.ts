import { float, int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { moveChanges } from "../../../src/postgres/attach/move.js";
import { definition } from "../../../src/schema/index.js";
import { openAlone } from "../../support/databases.js";
import { Shop } from "./shop.js";

test("a copy goes on behind a chunk that was cut because its rows are large", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const rows = 6;
  await shop.sql(
    `insert into T.orders select id, repeat('x', 4 * 1024 * 1024), 1 from generate_series(1, ${rows}) id`,
  );
  await using db = await openAlone(shop.place.location, { tables: [orders] });
  await attachTables(db, [orders]);
  await db.drain();
  const keys = Array.from({ length: rows }, (_, index) => [index + 1] as const);
  expect(await db.transact((tx) => tx.getMany(orders.total, keys))).toEqual(keys.map(() => 1));
});

test("a copy deletes rows of ours that SQL does not have, behind the first chunk too", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const rows = 1_200;
  await shop.sql(`insert into T.orders select id, 'a', 1 from generate_series(1, ${rows}) id`);
  await using db = await openAlone(shop.place.location, { tables: [orders] });
  await attachTables(db, [orders]);
  await db.drain();
  // Nothing logs this, so only the comparison of all rows can find it.
  await shop.sql("alter table T.orders disable trigger all; delete from T.orders where id % 100 = 0");
  await attachTables(db, [orders]);
  await db.drain();
  const keys = Array.from({ length: rows }, (_, index) => [index + 1] as const);
  const totals = await db.transact((tx) => tx.getMany(orders.total, keys));
  expect(totals).toEqual(keys.map(([id]) => (id % 100 === 0 ? undefined : 1)));
});

test("a copy rests while changes arrive, which are moved meanwhile, and a drain ends the rest", async () => {
  await using shop = await Shop.create();
  const orders = attach(`${shop.schema}.orders`, {
    key: tuple(int()),
    columns: { customer: text(), total: float() },
    copyRest: 1_000,
  });
  await shop.sql("insert into T.orders select id, 'a', 1 from generate_series(1, 1200) id");
  await using db = await openAlone(shop.place.location, { tables: [orders] });
  await attachTables(db, [orders]);
  const request = { database: db, store: db.openedStore, tables: [orders[definition]] };
  const copied = async () => (await attachedTables(db))[0]!.copy.rows;
  const total = (id: number) => db.transact((tx) => tx.get(orders.total, [id]));
  const change = (to: number) => shop.sql("update T.orders set total = $1 where id = 1200", [to]);
  await change(2);
  expect(await moveChanges(request)).toMatchObject({ moved: true, restMs: 0 });
  expect(await copied()).toBe(100);
  await change(3);
  const { moved, restMs } = await moveChanges(request);
  expect(moved).toBe(true);
  expect(restMs).toBeGreaterThan(0);
  expect(await copied()).toBe(100);
  expect(await total(1_200)).toBe(3);
  await db.drain();
  expect(await copied()).toBe(1_200);
  expect(await total(1_199)).toBe(1);
});
