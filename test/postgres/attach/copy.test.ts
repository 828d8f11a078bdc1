import { open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { Shop } from "./shop.js";

test("a copy goes on behind a chunk that was cut because its rows are large", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const rows = 6;
  await shop.sql(
    `insert into T.orders select id, repeat('x', 4 * 1024 * 1024), 1 from generate_series(1, ${rows}) id`,
  );
  await using db = await open(shop.place.location, { tables: [orders] });
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
  await using db = await open(shop.place.location, { tables: [orders] });
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
