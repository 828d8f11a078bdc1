import { float, int, json, type Transaction, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, copyTables } from "percolatordb/postgres";
import { expect, test } from "vitest";
import type { TransactionRunner } from "../../../src/database/index.js";
import { type Environment, systemEnvironment } from "../../../src/environment/index.js";
import { moveChanges } from "../../../src/postgres/attach/move.js";
import { definition } from "../../../src/schema/index.js";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop, sums } from "./shop.js";

test("a copy goes on behind a chunk that was cut because its rows are large", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const rows = 6;
  await shop.sql(
    `insert into T.orders select id, repeat('x', 4 * 1024 * 1024), 1 from generate_series(1, ${rows}) id`,
  );
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
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
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
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

test("values that an `ALTER TABLE` rewrites in the middle of a copy arrive, and so do changes around it", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  await shop.sql("insert into T.orders select id, 'a', id from generate_series(1, 1200) id");
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
  await attachTables(db, [orders]);
  await moveChanges({ database: db, store: db.openedStore, tables: [orders[definition]] });
  const [status] = await attachedTables(db, [orders]);
  expect(status!.copy).toMatchObject({ phase: "copy", rows: 500 });
  await shop.sql("update T.orders set total = 7 where id in (1, 2, 1199)");
  await shop.sql("alter table T.orders alter total type float8 using total * 2");
  await shop.sql("update T.orders set total = 9 where id = 2");
  await db.drain();
  const rows = await shop.sql("select id, customer, total from T.orders order by id");
  expect(await rowsOf(db, orders)).toEqual(rows.map(({ id, ...row }) => [id, row]));
});

test("a copy rests while changes arrive, which are moved meanwhile, and a drain ends the rest", async () => {
  await using shop = await Shop.create();
  const orders = attach(`${shop.schema}.orders`, {
    key: tuple(int()),
    columns: { customer: text(), total: float() },
    copyRest: 1_000,
  });
  await shop.sql("insert into T.orders select id, 'a', 1 from generate_series(1, 1200) id");
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
  await attachTables(db, [orders]);
  const request = { database: db, store: db.openedStore, tables: [orders[definition]] };
  const copied = async () => (await attachedTables(db))[0]!.copy.rows;
  const total = (id: number) => db.transact((tx) => tx.get(orders.total, [id]));
  const change = (to: number) => shop.sql("update T.orders set total = $1 where id = 1200", [to]);
  await change(2);
  expect(await moveChanges(request)).toMatchObject({ moved: true, restMs: 0 });
  expect(await copied()).toBe(50);
  await change(3);
  const { moved, restMs } = await moveChanges(request);
  expect(moved).toBe(true);
  expect(restMs).toBeGreaterThan(0);
  expect(await copied()).toBe(50);
  expect(await total(1_200)).toBe(3);
  await db.drain();
  expect(await copied()).toBe(1_200);
  expect(await total(1_199)).toBe(1);
});

test("a move reads the columns of its rows together, and does not ask about tables that are copied", async () => {
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  // Time stands still, so that no look at a copied table is due, however slow the machine is.
  const environment = Object.create(systemEnvironment, { monotonic: { value: () => 0 } }) as Environment;
  await using db = await openAlone(await storeAt(shop.place), { tables: [orders], environment });
  await attachTables(db, [orders]);
  await db.drain();
  const labels: (string | undefined)[] = [];
  let [reading, together] = [0, 0];
  const counted = (tx: Transaction) =>
    new Proxy(tx, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name !== "getMany") return value.bind(target);
        return async (...args: Parameters<Transaction["getMany"]>) => {
          together = Math.max(together, ++reading);
          const found = await target.getMany(...args);
          reading--;
          return found;
        };
      },
    });
  const database: TransactionRunner = {
    transact: (run, options) => {
      labels.push(options?.label);
      return db.transact((tx) => run(counted(tx)), options);
    },
  };
  await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2)");
  await moveChanges({ database, store: db.openedStore, tables: [orders[definition]] });
  expect(labels).toEqual(["move attached tables"]);
  expect(together).toBe(2);
});

test("a comparison of rows with long keys deletes none that SQL has", async () => {
  await using shop = await Shop.create();
  const rows = 2_000;
  await shop.sql('create table T.pages (id text collate "C" primary key, total float8)');
  // JSON has six bytes for each such character, so the keys that are compared at once have more than 16 MiB.
  await shop.sql(
    `insert into T.pages select repeat(chr(1), 1450) || lpad(i::text, 6, '0'), 1 from generate_series(1, ${rows}) i`,
  );
  const pages = attach(`${shop.schema}.pages`, { columns: { total: float() } });
  await using db = await openAlone(await storeAt(shop.place), { tables: [pages] });
  await attachTables(db, [pages]);
  await db.drain();
  await using snapshot = await db.snapshot();
  let found = 0;
  for await (const _ of snapshot.scan(pages)) found++;
  expect(found).toBe(rows);
});

test.each(["\\ud83d", "\\uD83D", "\\u0000"])(
  "a row with %s in its JSON, which the server cannot read, may change during a copy",
  async (escaped) => {
    await using shop = await Shop.create();
    await shop.sql("create table T.docs (id int primary key, doc json); insert into T.docs values (1, '1')");
    const docs = attach(`${shop.schema}.docs`, { key: tuple(int()), columns: { doc: json<unknown>() } });
    await using db = await openAlone(await storeAt(shop.place), { tables: [docs] });
    await attachTables(db, [docs]);
    await shop.sql("update T.docs set doc = $1 where id = 1", [`"${escaped}"`]);
    await db.drain();
    expect(await rowsOf(db, docs)).toEqual([[1, { doc: JSON.parse(`"${escaped}"`) }]]);
  },
);

test("`copyTables` refuses a table that was not declared with `attach`", async () => {
  await using shop = await Shop.create();
  await using db = await openAlone(await storeAt(shop.place), { tables: [sums] });
  await expect(copyTables(db, [sums])).rejects.toThrow("Table sums was not declared with `attach`.");
});
