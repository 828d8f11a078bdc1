import { float, int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, detachTable } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { gather } from "../../support/gather.js";
import { newPlace, removePlace, storeAt } from "../../support/postgres/index.js";
import { Shop, sums } from "./shop.js";

test("an SQL table is attached to one database of a server, and the other is told its schema", async () => {
  await using shop = await Shop.create();
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  const other = await newPlace();
  const { orders, add } = shop.declare();
  await using first = await openAlone(await storeAt(shop.place), {
    tables: [orders, sums],
    observers: [add],
  });
  const { orders: same, add: sameAdd } = shop.declare();
  const options = { tables: [same, sums], observers: [sameAdd] };
  await using second = await openAlone(await storeAt(other), options);
  await attachTables(first, [orders]);
  const quoted = `"${shop.place.schema.replaceAll('"', '""')}"`;
  const message = expect.stringContaining(
    `orders" is attached to another database already, in the schema ${quoted}, and its triggers can serve only one. Detach it there first`,
  );
  await expect(attachTables(second, [same])).rejects.toMatchObject({ code: "SCHEMA", message });
  const [status] = await attachedTables(second, [same]);
  expect(status!.problems).toContainEqual(message);
  // Nothing was changed.
  const [made] = await shop.sql("select to_regclass($1) as name", [
    `"${other.schema.replaceAll('"', '""')}".outbox`,
  ]);
  expect(made).toEqual({ name: null });
  await shop.sql("insert into T.orders values (2, 'b', 2)");
  await shop.expectEqual(first, orders);
  await detachTable(first, orders);
  await attachTables(second, [same]);
  await shop.sql("insert into T.orders values (3, 'c', 3)");
  await shop.expectEqual(second, same);
  // A schema that was dropped took its triggers with it.
  await second.close();
  await removePlace(other);
  await attachTables(first, [orders]);
  await shop.expectEqual(first, orders);
});

test("of two databases that attach a table at the same moment, one is told the other's schema", async () => {
  await using shop = await Shop.create();
  const other = await newPlace();
  const sides = [];
  for (const place of [shop.place, other]) {
    const { orders, add } = shop.declare();
    const db = await openAlone(await storeAt(place), { tables: [orders, sums], observers: [add] });
    sides.push({ db, orders, schema: `"${place.schema.replaceAll('"', '""')}"` });
  }
  const client = await shop.pool.connect();
  await client.query("begin");
  await client.query(`lock table ${shop.schema}.orders in share mode`);
  const attaching = Promise.allSettled(sides.map(({ db, orders }) => attachTables(db, [orders])));
  // Both have found no triggers, and wait for the table's lock.
  for (const { schema } of sides) {
    await expect
      .poll(() => shop.sql(`select 1 from ${schema}.attachments`).catch(() => []), { timeout: 60_000 })
      .toHaveLength(1);
  }
  await client.query("commit");
  client.release();
  const ends = await attaching;
  expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const winner = sides[ends.findIndex(({ status }) => status === "fulfilled")]!;
  const { reason } = ends.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  expect(reason).toMatchObject({
    code: "SCHEMA",
    message: expect.stringContaining(`to another database already, in the schema ${winner.schema}`),
  });
  await shop.sql("insert into T.orders values (1, 'a', 1)");
  await shop.expectEqual(winner.db, winner.orders);
  for (const { db } of sides) await db.close();
  await removePlace(other);
});

test("triggers of a renamed schema do not write into tables of the schema that has its old name", async () => {
  await using shop = await Shop.create();
  await shop.sql("create table T.others (id int primary key, customer text, total float8)");
  const { orders, add } = shop.declare();
  const quoted = `"${shop.place.schema.replaceAll('"', '""')}"`;
  const renamed = `"renamed ${process.pid}"`;
  {
    await using first = await openAlone(await storeAt(shop.place), {
      tables: [orders, sums],
      observers: [add],
    });
    await attachTables(first, [orders]);
  }
  await shop.sql(`alter schema ${quoted} rename to ${renamed}`);
  try {
    const others = attach(`${shop.schema}.others`, {
      name: "others",
      key: tuple(int()),
      columns: { customer: text(), total: float() },
    });
    await using second = await openAlone(await storeAt(shop.place), { tables: [others] });
    await attachTables(second, [others]);
    await shop.sql("insert into T.others values (1, 'b', 2)");
    await second.drain();
    // The copy is over, which would drop what SQL does not have.
    await shop.sql("insert into T.orders values (7, 'a', 1)");
    await second.drain();
    await using view = await second.snapshot();
    expect(await gather(view.scan(others))).toEqual([{ row: [1], value: { customer: "b", total: 2 } }]);
  } finally {
    await shop.sql(`drop schema ${renamed} cascade`);
  }
});
