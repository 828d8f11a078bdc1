import { bytes, codec, float, int, json, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { Shop } from "./shop.js";

let shop: Shop;

beforeEach(async () => {
  shop = await Shop.create();
});

afterEach(() => shop[Symbol.asyncDispose]());

/** Expects a named error, and that nothing was changed. */
async function expectRefused(table: ReturnType<typeof attach>, message: RegExp): Promise<void> {
  await using db = await openAlone(await storeAt(shop.place), { tables: [table] });
  await expect(attachTables(db, [table])).rejects.toMatchObject({
    code: "SCHEMA",
    message: expect.stringMatching(message),
  });
  expect((await shop.sql("select to_regclass($1) as t", [shop.text("P.outbox")]))[0]!.t).toBeNull();
  expect(
    await shop.sql(
      "select from pg_trigger where tgname like '!percolatordb%' and tgrelid in (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1)",
      [shop.schema],
    ),
  ).toEqual([]);
}

describe("tables", () => {
  test.each([
    [
      "a materialized view",
      "create materialized view T.bad as select 1 as id, 'a'::text as a",
      /is a materialized view/,
    ],
    [
      "a foreign table",
      "create foreign data wrapper S_w; create server S_s foreign data wrapper S_w; create foreign table T.bad (id int, a text) server S_s",
      /is a foreign table/,
    ],
    [
      "a parent",
      "create table T.bad (id int primary key, a text); create table T.child () inherits (T.bad)",
      /is a part of another table, or has parts/,
    ],
    [
      "a child",
      "create table T.parent (id int, a text); create table T.bad (primary key (id)) inherits (T.parent)",
      /is a part of another table, or has parts/,
    ],
    [
      "a partition",
      "create table T.parent (id int primary key, a text) partition by range (id); create table T.bad partition of T.parent default",
      /is a part of another table/,
    ],
    [
      "an unlogged table, which is empty after a crash",
      "create unlogged table T.bad (id int primary key, a text)",
      /bad" is unlogged: .*: alter table .*\."bad" set logged\./,
    ],
    ["a sequence", "create sequence T.bad", /is no table/],
    [
      "a unique index instead of a primary key",
      "create table T.bad (id int unique not null, a text)",
      /has no primary key/,
    ],
  ])("%s", async (_, statement, message) => {
    await shop.sql(statement.replaceAll("S_", `${shop.schema}_`));
    try {
      await expectRefused(
        attach(`${shop.schema}.bad`, { key: tuple(int()), columns: { a: text() } }) as never,
        message,
      );
    } finally {
      await shop.sql(`drop foreign data wrapper if exists ${shop.schema}_w cascade`);
    }
  });

  test.each(["float8", "numeric", "timestamptz", "jsonb", "int[]", "inet"])(
    "a key of type %s, whose order no key codec keeps",
    async (type) => {
      await shop.sql(`create table T.bad (id ${type} primary key, a text)`);
      await expectRefused(
        attach(`${shop.schema}.bad`, { key: tuple(int()), columns: { a: text() } }) as never,
        /column id: its type .* does not fit a key part int/,
      );
    },
  );

  test("a domain in the key, whose constraint may refuse a key that is here", async () => {
    await shop.sql(
      "create domain T.positive as int check (value > 0); create table T.bad (id T.positive primary key, a text)",
    );
    await expectRefused(
      attach(`${shop.schema}.bad`, { key: tuple(int()), columns: { a: text() } }) as never,
      /its type .*positive does not fit a key part int/,
    );
  });

  test("a key codec that does not fit an allowed type", async () => {
    await shop.sql("create table T.bad (id uuid primary key, a text)");
    await expectRefused(
      attach(`${shop.schema}.bad`, { key: tuple(float()), columns: { a: text() } }) as never,
      /does not fit a key part float, which takes no type of SQL/,
    );
    await expectRefused(
      attach(`${shop.schema}.bad`, { name: "bad2", key: tuple(bytes()), columns: { a: text() } }) as never,
      /its type uuid does not fit/,
    );
  });

  test("a column with a type that its codec cannot hold, and a codec of the program's own", async () => {
    await shop.sql(
      "create type T.pair as (x int, y int); create table T.bad (id int primary key, a T.pair)".replaceAll(
        "T.pair",
        `${shop.schema}.pair`,
      ),
    );
    await expectRefused(
      attach(`${shop.schema}.bad`, { key: tuple(int()), columns: { a: float() } }) as never,
      /column a: its type .*pair does not fit float/,
    );
    const own = codec<string>({
      encode: (value) => Buffer.from(value),
      decode: (stored) => Buffer.from(stored).toString(),
    });
    await expectRefused(
      attach(`${shop.schema}.bad`, { name: "bad2", key: tuple(int()), columns: { a: own } }) as never,
      /cannot be custom/,
    );
    const any = attach(`${shop.schema}.bad`, {
      name: "bad3",
      key: tuple(int()),
      columns: { a: json<unknown>() },
    });
    await using db = await openAlone(await storeAt(shop.place), { tables: [any] });
    await attachTables(db, [any]);
    await shop.sql("insert into T.bad values (1, row(1, 2))");
    await db.drain();
    expect(await db.transact((tx) => tx.get(any.a, [1]))).toEqual({ x: 1, y: 2 });
  });

  test("a JSON column is checked by its schema: a row that does not fit parks the table, until it is corrected", async () => {
    await shop.sql("create table T.carts (id int primary key, lines jsonb)");
    const lines = z.array(z.object({ sku: z.string(), count: z.int().min(1) }));
    const carts = attach(`${shop.schema}.carts`, { key: tuple(int()), columns: { lines: json(lines) } });
    await using db = await openAlone(await storeAt(shop.place), { tables: [carts] });
    await attachTables(db, [carts]);
    await shop.sql(`insert into T.carts values (1, '[{"sku": "a", "count": 2}]'), (2, null)`);
    await db.drain();
    const read = (id: number) => db.transact((tx) => tx.get(carts.lines, [id]));
    expect(await read(1)).toEqual([{ sku: "a", count: 2 }]);
    expect(await read(2)).toBeUndefined();
    await shop.sql(`update T.carts set lines = '[{"sku": "b", "count": 0}]' where id = 2`);
    await expect(db.drain()).rejects.toThrow(
      /A row of .*carts" does not fit its declaration: .*lines.*count/s,
    );
    expect((await attachedTables(db, [carts]))[0]).toMatchObject({
      parked: { error: expect.stringMatching(/count/) },
    });
    await shop.sql(`update T.carts set lines = '[{"sku": "b", "count": 1}]' where id = 2`);
    await attachTables(db, [carts]);
    await db.drain();
    expect(await read(2)).toEqual([{ sku: "b", count: 1 }]);
  });

  test.each([
    "no_such_schema.orders",
    '"T; drop schema x"."orders"',
    '"o\'r"."orders"',
    '"ö␀☃"."ta""ble"',
    '"$1"."$f$"',
  ])("the schema or table %s does not exist", (name) =>
    expectRefused(attach(name, { name: "orders", columns: { a: text() } }) as never, /There is no table /),
  );

  test("names that look like SQL mean what they say", async () => {
    const [schema, table, key] = [`${shop.schema}'; drop schema x; --`, 'ta"ble $f$ \\ ☃ $1', "k'e\"y; --"];
    const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
    await shop.pool.query(
      `create schema ${quoted(schema)}; create table ${quoted(schema)}.${quoted(table)} (${quoted(key)} text primary key, v int)`,
    );
    try {
      const odd = attach(`${quoted(schema)}.${quoted(table)}`, { name: "odd", columns: { v: int() } });
      await using db = await openAlone(await storeAt(shop.place), { tables: [odd] });
      await shop.pool.query(`insert into ${quoted(schema)}.${quoted(table)} values ('it''s', 1), ('two', 2)`);
      await attachTables(db, [odd]);
      await db.drain();
      await shop.pool.query(
        `update ${quoted(schema)}.${quoted(table)} set v = 3, ${quoted(key)} = 'moved' where v = 1`,
      );
      await db.drain();
      expect(await db.transact((tx) => tx.getMany(odd.v, ["it's", "moved", "two"]))).toEqual([
        undefined,
        3,
        2,
      ]);
      await attachTables(db, [odd]);
      await db.drain();
      expect(await shop.pending()).toBe(0);
    } finally {
      await shop.pool.query(`drop schema ${quoted(schema)} cascade`);
    }
  });
});
