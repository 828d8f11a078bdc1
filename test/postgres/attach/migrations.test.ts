import { type Database, float, int, observer, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, detachTable, postgresStore } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TransactionRunner } from "../../../src/database/index.js";
import { type Environment, systemEnvironment } from "../../../src/environment/index.js";
import { moveChanges } from "../../../src/postgres/attach/move.js";
import { definition } from "../../../src/schema/index.js";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { FaultyPool } from "../faulty-pool.js";
import { rowsOf, Shop, sums } from "./shop.js";

let shop: Shop;
let db: Database;
let orders: ReturnType<Shop["declare"]>["orders"];

beforeEach(async () => {
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  db = await openAlone(await storeAt(shop.place), { observers: [declared.add], tables: [orders, sums] });
  await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2)");
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
});

afterEach(async () => {
  await db.close();
  await shop[Symbol.asyncDispose]();
});

const replace =
  "alter table T.orders rename to former; create table T.orders (id int primary key, customer text, total float8); insert into T.orders values (1, 'n', 7)";

test("a renamed table whose name another table got logs nothing more once that one is attached", async () => {
  await shop.sql(replace);
  await expect(db.drain()).rejects.toThrow(/orders" is another table than the one that was attached/);
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
  await shop.sql("update T.former set total = 999; insert into T.former values (3, 'former', 3)");
  await shop.expectEqual(db, orders);
  await shop.sql("update T.orders set total = 8");
  await shop.expectEqual(db, orders);
});

test("detaching removes the triggers of a table that was renamed", async () => {
  await shop.sql("alter table T.orders rename to former");
  await expect(db.drain()).rejects.toThrow(/There is no table .*orders" any more/);
  await detachTable(db, orders);
  const triggers = "select from pg_trigger where tgrelid = $1::regclass and not tgisinternal";
  expect(await shop.sql(triggers, [`${shop.schema}.former`])).toEqual([]);
  await shop.sql("update T.former set total = 9");
  expect(await shop.pending()).toBe(0);
});

test("a table that was renamed goes on under its new name, and its cells stay", async () => {
  await shop.sql("alter table T.orders rename to sales; update T.sales set total = 3 where id = 1");
  const sales = attach(`${shop.schema}.sales`, {
    name: "orders",
    key: tuple(int()),
    columns: { customer: text(), total: float() },
  });
  const seen: unknown[] = [];
  const add = observer("add", sales.total, (_, { row, value, previous }) => {
    seen.push([row, previous, value]);
  });
  await using other = await openAlone(await storeAt(shop.place), { observers: [add], tables: [sales] });
  await expect(attachTables(other, [sales])).rejects.toThrow(
    /"orders" is the name of .*orders" already.*is its new name, detach .*orders" first/,
  );
  await detachTable(other, `${shop.schema}.orders`);
  await attachTables(other, [sales]);
  await other.drain();
  expect(await rowsOf(other, sales)).toEqual([
    [1, { customer: "a", total: 3 }],
    [2, { customer: "b", total: 2 }],
  ]);
  expect(seen).toEqual([[[1], 1, 3]]);
});

test.each([
  ["a child", "create table T.child () inherits (T.orders)", "drop table T.child"],
  [
    "a parent",
    "create table T.parent (id int not null, customer text, total float8); alter table T.orders inherit T.parent",
    "alter table T.orders no inherit T.parent",
  ],
  [
    "a partitioned table above it",
    "create table T.parent (id int primary key, customer text, total float8) partition by range (id); alter table T.parent attach partition T.orders default",
    "alter table T.parent detach partition T.orders",
  ],
])("a table that got %s after it was attached is parked", async (_, statement, mend) => {
  await shop.sql(statement);
  await expect(db.drain()).rejects.toThrow(/orders" is a part of another table, or has parts/);
  const [status] = await attachedTables(db, [orders]);
  expect(status).toMatchObject({ parked: { error: expect.stringMatching(/has parts/) } });
  await expect(attachTables(db, [orders])).rejects.toThrow(/has parts/);
  await shop.sql(mend);
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
});

test("the type of the key is changed between detaching and attaching, and writes meanwhile arrive", async () => {
  const retype = "alter table T.orders alter column id type bigint";
  await expect(shop.sql(retype)).rejects.toThrow(
    /cannot alter type of a column used in a trigger definition/,
  );
  await detachTable(db, `${shop.schema}.orders`);
  await shop.sql(retype);
  await shop.sql("insert into T.orders values (3000000000, 'c', 3); delete from T.orders where id = 1");
  await attachTables(db, [orders]);
  await shop.sql("update T.orders set total = 4 where id = 2");
  await db.drain();
  expect(await rowsOf(db, orders)).toEqual([
    [2, { customer: "b", total: 4 }],
    [3_000_000_000, { customer: "c", total: 3 }],
  ]);
  expect(await db.transact((tx) => tx.get(sums.total, "all"))).toBe(7);
});

test("a key that its new type cannot hold is deleted, and the other rows keep theirs", async () => {
  await shop.sql(`create table T.notes (id text primary key, body text);
    insert into T.notes values ('abc', 'a'), ('7F8B7C1E-6B1A-4C59-9D6A-0A4B0A0A0A0A', 'b'), ('7f8b7c1e-6b1a-4c59-9d6a-0a4b0a0a0a0b', 'c');
    create table T.counts (id bigint primary key, n int); insert into T.counts values (-3000000000, 1), (1, 2), (3000000000, 3)`);
  const notes = attach(`${shop.schema}.notes`, { key: tuple(text()), columns: { body: text() } });
  const counts = attach(`${shop.schema}.counts`, { key: tuple(int()), columns: { n: int() } });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, notes, counts] });
  await attachTables(other, [notes, counts]);
  await other.drain();
  await detachTable(other, notes);
  await detachTable(other, counts);
  await shop.sql(`alter table T.notes alter id type uuid
      using case when id = 'abc' then '00000000-0000-4000-8000-000000000000' else id end::uuid;
    delete from T.counts where id <> 1; alter table T.counts alter id type smallint`);
  await attachTables(other, [notes, counts]);
  await other.drain();
  expect(await rowsOf(other, notes)).toEqual([
    ["00000000-0000-4000-8000-000000000000", { body: "a" }],
    ["7f8b7c1e-6b1a-4c59-9d6a-0a4b0a0a0a0a", { body: "b" }],
    ["7f8b7c1e-6b1a-4c59-9d6a-0a4b0a0a0a0b", { body: "c" }],
  ]);
  expect(await rowsOf(other, counts)).toEqual([[1, { n: 2 }]]);
});

test("a key of bigint may be text, so that it has all its digits", async () => {
  const ids = ["-9223372036854775808", "5", "9007199254740993", "1213141516171819202"];
  await shop.sql(`create table T.posts (id text primary key, likes int); insert into T.posts values
    ('abc', 1), ('007', 1), ('99999999999999999999', 1), ('9999999999999999999', 1), ('5', 1)`);
  const posts = attach(`${shop.schema}.posts`, { key: tuple(text()), columns: { likes: int() } });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, posts] });
  await attachTables(other, [posts]);
  await other.drain();
  await detachTable(other, posts);
  await shop.sql(
    "delete from T.posts where id <> '5'; alter table T.posts alter id type bigint using id::bigint",
  );
  await shop.sql(`insert into T.posts select unnest($1::bigint[]), 1 on conflict do nothing`, [ids]);
  await attachTables(other, [posts]);
  await other.drain();
  expect((await rowsOf(other, posts)).map((row) => (row as [string])[0])).toEqual(ids.toSorted());
  await shop.sql(
    "update T.posts set id = id + 1, likes = 2 where id > 9007199254740992; delete from T.posts where id = 5",
  );
  await other.drain();
  expect(await rowsOf(other, posts)).toEqual([
    ["-9223372036854775808", { likes: 1 }],
    ["1213141516171819203", { likes: 2 }],
    ["9007199254740994", { likes: 2 }],
  ]);
});

test("a generated column arrives as it is stored, and an identity column may be the key", async () => {
  await shop.sql(`create table T.lines (id int generated always as identity primary key, price float8,
    gross float8 generated always as (price * 2) stored)`);
  const lines = attach(`${shop.schema}.lines`, {
    key: tuple(int()),
    columns: { price: float(), gross: float() },
  });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, lines] });
  await shop.sql("insert into T.lines (price) values (1)");
  await attachTables(other, [lines]);
  await other.drain();
  await shop.sql("insert into T.lines (price) values (2); update T.lines set price = 3 where id = 1");
  await other.drain();
  expect(await rowsOf(other, lines)).toEqual([
    [1, { price: 3, gross: 6 }],
    [2, { price: 2, gross: 4 }],
  ]);
});

test("a virtual generated column, which triggers do not see, is refused", async () => {
  await shop.sql(
    "create table T.lines (id int primary key, price float8, gross float8 generated always as (price * 2) stored)",
  );
  const lines = attach(`${shop.schema}.lines`, { key: tuple(int()), columns: { gross: float() } });
  const pool = new FaultyPool(shop.place.host);
  // Servers before PostgreSQL 18 have no virtual columns, so the stored one is taken for one.
  const isVirtual = "a.attgenerated = 'v'";
  pool.interfere = (query, send) =>
    query.text.includes(isVirtual)
      ? pool.send({ ...query, text: query.text.replace(isVirtual, "a.attgenerated = 's'") })
      : send();
  try {
    const store = await postgresStore({ pool, schema: shop.place.schema });
    await using other = await openAlone(store, { tables: [orders, lines] });
    await expect(attachTables(other, [lines])).rejects.toMatchObject({
      code: "SCHEMA",
      message: expect.stringMatching(/column gross: it is a virtual generated column.*stored/),
    });
  } finally {
    await pool.end();
  }
});

test("`TRUNCATE ... CASCADE` of another table deletes the rows of an attached one", async () => {
  await shop.sql(`create table T.customers (name text primary key); insert into T.customers values ('a'), ('b');
    alter table T.orders add foreign key (customer) references T.customers`);
  await shop.sql("truncate T.customers cascade");
  await shop.expectEqual(db, orders);
  expect(await rowsOf(db, orders)).toEqual([]);
});

test("a renamed type parks the table, and a renamed value of an enum is read when it is attached again", async () => {
  await shop.sql(`create type T.mood as enum ('good', 'bad');
    create table T.moods (id int primary key, mood T.mood); insert into T.moods values (1, 'good')`);
  const moods = attach(`${shop.schema}.moods`, { key: tuple(int()), columns: { mood: text() } });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, moods] });
  await attachTables(other, [moods]);
  await other.drain();
  await shop.sql("alter type T.mood add value 'new'");
  await shop.sql("insert into T.moods values (2, 'new')");
  await other.drain();
  expect(await rowsOf(other, moods)).toEqual([
    [1, { mood: "good" }],
    [2, { mood: "new" }],
  ]);
  await shop.sql("alter type T.mood rename value 'good' to 'fine'");
  await shop.sql("alter type T.mood rename to feeling");
  await expect(other.drain()).rejects.toThrow(/column "mood": its type was .*mood and is now .*feeling/);
  await attachTables(other, [moods]);
  await other.drain();
  expect(await rowsOf(other, moods)).toEqual([
    [1, { mood: "fine" }],
    [2, { mood: "new" }],
  ]);
});

test.each([
  ["an enum", "mood", "good", "fine"],
  ["a domain over an enum", "shown", "good", "fine"],
  ["an array of enums", "many", '["good"]', '["fine"]'],
  ["a composite type with an enum", "pair", '{"first":"good","note":"x"}', '{"first":"fine","note":"x"}'],
])(
  "a renamed value of %s parks the table, and its rows are read when it is attached again",
  async (_, name, before, after) => {
    await shop.sql(`create type T.mood as enum ('good', 'bad'); create domain T.shown as T.mood;
    create type T.pair as (first T.mood, note text);
    create table T.moods (id int primary key, mood T.mood, many T.mood[], shown T.shown, pair T.pair, other T.mood);
    insert into T.moods values (1, 'good', array['good']::T.mood[], 'good', row('good', 'x')::T.pair, 'bad')`);
    const moods = attach(`${shop.schema}.moods`, { key: tuple(int()), columns: { [name]: text() } });
    await using other = await openAlone(await storeAt(shop.place), { tables: [orders, moods] });
    await attachTables(other, [moods]);
    await other.drain();
    expect(await rowsOf(other, moods)).toEqual([[1, { [name]: before }]]);
    await shop.sql("alter type T.mood rename value 'good' to 'fine'");
    const [, status] = await attachedTables(other, [orders, moods]);
    const message = new RegExp(
      `column "${name}": a value of its enum was "good" and is now "fine", and no trigger saw`,
    );
    expect(status!.problems).toEqual([expect.stringMatching(message)]);
    // A row that is written after the rename must not arrive before the others are read again.
    await shop.sql("update T.moods set other = 'fine' where id = 1");
    await expect(other.drain()).rejects.toThrow(message);
    await attachTables(other, [moods]);
    await other.drain();
    expect(await rowsOf(other, moods)).toEqual([[1, { [name]: after }]]);
  },
);

describe("the session's settings do not change what a column's type is", () => {
  const columns = { mood: text(), many: text(), day: text(), price: text(), doc: text() };

  async function createMoods() {
    await shop.sql(`create type T.mood as enum ('good', 'bad'); create type T."Odd name" as (a int);
      create table T.moods (id int primary key, mood T.mood, many T."Odd name"[], day date, price numeric(10, 2), doc jsonb);
      insert into T.moods values (1, 'good', array[row(1)::T."Odd name"], '2024-01-02', 1.5, '{}')`);
    const moods = attach(`${shop.schema}.moods`, { key: tuple(int()), columns });
    return { moods, options: { tables: [orders, moods], create: false } };
  }

  /** The database's location, with settings of the session. */
  const locationWith = (settings: string) => `${shop.place.location}&options=${encodeURIComponent(settings)}`;

  test("whatever `search_path` and `quote_all_identifiers` are", async () => {
    const { moods, options } = await createMoods();
    const settings = [
      `-c search_path=${shop.schema}`,
      "-c quote_all_identifiers=on",
      `-c search_path=${shop.schema} -c quote_all_identifiers=on`,
      "-c search_path=public",
    ];
    for (const attaching of settings) {
      await using migration = await openAlone(locationWith(attaching), options);
      await attachTables(migration, [moods]);
      for (const moving of settings) {
        await using mover = await openAlone(locationWith(moving), options);
        await mover.drain();
      }
    }
    await shop.sql("alter table T.moods alter price type numeric(12, 2)");
    await using mover = await openAlone(locationWith(settings[1]!), options);
    await expect(mover.drain()).rejects.toThrow(
      /column "price": its type was numeric\(10,2\) and is now numeric\(12,2\)/,
    );
  });

  test("nor whether backslashes in SQL are escapes", async () => {
    await shop.sql(`create table T."a\\b" (id text primary key, at timestamptz, note text);
      insert into T."a\\b" values ('one', null, E'\\\\u0000'), ('two', null, '\\')`);
    const notes = attach(`${shop.schema}."a\\b"`, { name: "notes", columns: { note: text() } });
    const options = { tables: [orders, notes], create: false };
    await using other = await openAlone(locationWith("-c standard_conforming_strings=off"), options);
    await attachTables(other, [notes]);
    await other.drain();
    await shop.sql(`update T."a\\b" set id = E'\\\\u0000' where id = 'one'`);
    await attachTables(other, [notes]);
    await other.drain();
    expect(await other.transact((tx) => tx.getMany(notes.note, ["one", "two", "\\u0000"]))).toEqual([
      undefined,
      "\\",
      "\\u0000",
    ]);
  });

  test("nor how the triggers compare a key whose collation takes two texts for equal", async () => {
    await shop.sql(`create collation T.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create table T.people (name text collate T.folded primary key, age int); insert into T.people values ('Ann', 1)`);
    const people = attach(`${shop.schema}.people`, { key: tuple(text()), columns: { age: int() } });
    const options = { tables: [orders, people], create: false };
    await using other = await openAlone(locationWith("-c quote_all_identifiers=on"), options);
    await attachTables(other, [people]);
    await other.drain();
    await shop.sql("update T.people set name = 'ANN'");
    await other.drain();
    expect(await rowsOf(other, people)).toEqual([["ANN", { age: 1 }]]);
  });

  test("an attachment of an earlier version is not parked, and a type of another schema parks a new one", async () => {
    const { moods, options } = await createMoods();
    await using migration = await openAlone(shop.place.location, options);
    await attachTables(migration, [moods]);
    // As an earlier version recorded it, with the schema of the types in its search_path.
    await shop.sql(`update P.attachments set definition = jsonb_set(definition::jsonb - 'hasTypeSchemas', '{shape}',
      '{"id": "1 integer", "mood": "2 mood", "many": "3 \\"Odd name\\"[]", "day": "4 date", "price": "5 \\"numeric\\"(10,2)", "doc": "6 pg_catalog.jsonb"}')::text
      where name = 'moods'`);
    await migration.drain();
    await attachTables(migration, [moods]);
    await shop.sql(`create domain T.date as text; alter table T.moods alter day type T.date`);
    await expect(migration.drain()).rejects.toThrow(
      /column "day": its type was date and is now shop_.*\.date/,
    );
  });
});

test("values of an enum that were swapped by renaming park the table, and added ones do not", async () => {
  await shop.sql(`create type T.mood as enum ('good', 'bad');
    create table T.moods (id int primary key, mood T.mood); insert into T.moods values (1, 'good')`);
  const moods = attach(`${shop.schema}.moods`, { key: tuple(int()), columns: { mood: text() } });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, moods] });
  await attachTables(other, [moods]);
  await other.drain();
  await shop.sql("alter type T.mood add value 'better' before 'good'");
  await other.drain();
  await shop.sql(`alter type T.mood rename value 'good' to 'x'; alter type T.mood rename value 'bad' to 'good';
    alter type T.mood rename value 'x' to 'bad'`);
  await expect(other.drain()).rejects.toThrow(/a value of its enum was "good" and is now "bad"/);
  await attachTables(other, [moods]);
  await other.drain();
  expect(await rowsOf(other, moods)).toEqual([[1, { mood: "bad" }]]);
});

describe("an `ALTER TABLE` that stores other values in a column", () => {
  const rewrite = "alter table T.orders alter total type float8 using total * 2";
  const generation = async () => (await shop.sql("select generation from P.attachments"))[0];

  test("arrives after the copy has ended, and the table is not parked", async () => {
    const before = await generation();
    await shop.sql(`update T.orders set total = 5 where id = 1; ${rewrite}`);
    await shop.expectEqual(db, orders);
    expect(await generation()).not.toEqual(before);
    expect(await attachedTables(db, [orders])).toMatchObject([{ problems: [], parked: undefined }]);
  });

  test.each([
    ["the rows are only stored elsewhere", "vacuum full T.orders", "cluster T.orders using orders_pkey"],
    ["the triggers saw it", "truncate T.orders", "insert into T.orders values (5, 'e', 5)"],
    ["the rows stay where they are", "alter table T.orders alter total set not null", "analyze T.orders"],
    [
      "another column is rewritten",
      "alter table T.orders add other int default 1",
      "alter table T.orders alter other type int using 2",
    ],
  ])("is not compared if %s", async (_, ...statements) => {
    const before = await generation();
    for (const statement of statements) await shop.sql(statement);
    await shop.expectEqual(db, orders);
    expect(await generation()).toEqual(before);
  });
});

test("an enum that was made again without a value parks the table", async () => {
  await shop.sql(`create type T.mood as enum ('good', 'bad');
    create table T.moods (id int primary key, mood T.mood); insert into T.moods values (1, 'good')`);
  const moods = attach(`${shop.schema}.moods`, { key: tuple(int()), columns: { mood: text() } });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, moods] });
  await attachTables(other, [moods]);
  await other.drain();
  await shop.sql(`create type T.newer as enum ('fine', 'bad');
    alter table T.moods alter mood type T.newer using (case mood when 'good' then 'fine' else 'bad' end)::T.newer;
    drop type T.mood; alter type T.newer rename to mood`);
  await expect(other.drain()).rejects.toThrow(/its enum has no value "good" any more/);
  await attachTables(other, [moods]);
  await other.drain();
  expect(await rowsOf(other, moods)).toEqual([[1, { mood: "fine" }]]);
});

test.each([
  ["renamed", "alter type T.pair rename attribute y to z", "x, y", "x, z", '{"x":1,"z":"a"}'],
  [
    "swapped by renaming",
    "alter type T.pair rename attribute x to o; alter type T.pair rename attribute y to x; alter type T.pair rename attribute o to y",
    "x, y",
    "y, x",
    '{"y":1,"x":"a"}',
  ],
  ["added", "alter type T.pair add attribute z int", "x, y", "x, y, z", '{"x":1,"y":"a","z":null}'],
  ["dropped", "alter type T.pair drop attribute x", "x, y", "y", '{"y":"a"}'],
])(
  "an attribute of a composite type that was %s parks the table, and its rows are read when it is attached again",
  async (_, statement, names, newNames, after) => {
    await shop.sql(`create type T.pair as (x int, y text); create domain T.shown as T.pair;
      create table T.points (id int primary key, pair T.pair, many T.shown[], other int);
      insert into T.points values (1, row(1, 'a')::T.pair, array[row(1, 'a')::T.pair]::T.shown[], 1)`);
    const points = attach(`${shop.schema}.points`, {
      key: tuple(int()),
      columns: { pair: text(), many: text() },
    });
    await using other = await openAlone(await storeAt(shop.place), { tables: [orders, points] });
    await attachTables(other, [points]);
    await other.drain();
    await shop.sql("update T.points set other = 2");
    await other.drain();
    await shop.sql(statement);
    const message = new RegExp(
      `column "pair": the attributes of its composite type were \\(${names}\\) and are now \\(${newNames}\\), and no trigger saw`,
    );
    const [, status] = await attachedTables(other, [orders, points]);
    expect(status!.problems).toEqual([expect.stringMatching(message)]);
    await expect(other.drain()).rejects.toThrow(message);
    await attachTables(other, [points]);
    await other.drain();
    expect(await rowsOf(other, points)).toEqual([[1, { pair: after, many: `[${after}]` }]]);
    // An attachment of an earlier version has no record of attributes, and goes on.
    await shop.sql(
      "update P.attachments set definition = (definition::jsonb - 'attributes')::text where name = 'points'",
    );
    await shop.sql("alter type T.pair add attribute later int");
    await other.drain();
  },
);

test("a renamed value of an enum in the key moves its rows to the new key", async () => {
  await shop.sql(`create type T.size as enum ('small', 'large');
    create table T.stock (size T.size primary key, pieces int); insert into T.stock values ('small', 1), ('large', 2)`);
  const stock = attach(`${shop.schema}.stock`, { key: tuple(text()), columns: { pieces: int() } });
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, stock] });
  await attachTables(other, [stock]);
  await other.drain();
  await shop.sql("alter type T.size rename value 'small' to 'tiny'");
  await expect(other.drain()).rejects.toThrow(
    /column "size": a value of its enum was "small" and is now "tiny"/,
  );
  await attachTables(other, [stock]);
  await other.drain();
  expect(await rowsOf(other, stock)).toEqual([
    ["large", { pieces: 2 }],
    ["tiny", { pieces: 1 }],
  ]);
});

test("a role that may not remove the triggers of a renamed table is told what to do, and nothing is changed", async () => {
  await shop.sql(replace);
  await expect(db.drain()).rejects.toThrow(/is another table/);
  await using role = await shop.createRole();
  await shop.sql(`grant usage, create on schema T to ${role.name}; grant create on schema P to ${role.name};
    alter table T.orders owner to ${role.name}`);
  const { orders: same } = shop.declare();
  await using lowly = await openAlone(role.location, { tables: [same], create: false });
  const before = await shop.sql("select * from P.attachments");
  const noMember = new RegExp(`outbox .* belongs to the role postgres.*: grant postgres to ${role.name}`);
  await expect(attachTables(lowly, [same])).rejects.toMatchObject({
    code: "SCHEMA",
    message: expect.stringMatching(noMember),
  });
  await expect(detachTable(lowly, same)).rejects.toThrow(noMember);
  await shop.sql(`alter table P.attachments owner to ${role.name}; alter table P.outbox owner to ${role.name};
    alter function P.log_row() owner to ${role.name}; alter function P.log_truncate() owner to ${role.name};
    alter function P.attached_row(anyelement) owner to ${role.name}`);
  const refusal = {
    code: "SCHEMA",
    message: expect.stringMatching(
      new RegExp(
        `${shop.schema}.former still has the triggers of .*orders".*The role ${role.name} is not its owner postgres.*drop trigger "!percolatordb key" on`,
      ),
    ),
  };
  await expect(attachTables(lowly, [same])).rejects.toMatchObject(refusal);
  await expect(detachTable(lowly, same)).rejects.toMatchObject(refusal);
  expect(await shop.sql("select * from P.attachments")).toEqual(before);
  const [status] = await attachedTables(lowly, [same]);
  expect(status!.problems).toContainEqual(refusal.message);
  // The advice is what the owner of the renamed table has to run.
  const advice = /repeat: (.*)\.$/.exec(status!.problems.find((each) => each.includes("still has"))!)![1]!;
  await shop.pool.query(advice);
  await shop.sql(`grant select on T.orders to ${role.name}`);
  await attachTables(lowly, [same]);
  await shop.expectEqual(db, orders);
});

test("a worker of an older declaration moves no change from after the table was attached with a newer one", async () => {
  await shop.sql("alter table T.orders add note text");
  const newer = attach(`${shop.schema}.orders`, {
    key: tuple(int()),
    columns: { customer: text(), total: float(), note: text() },
  });
  await using other = await openAlone(await storeAt(shop.place), { tables: [newer] });
  // This process knows for a second that its table is copied, and all happens within it.
  const environment: Environment = { ...systemEnvironment, monotonic: () => 0 };
  await using older = await openAlone(await storeAt(shop.place, { environment }), { tables: [orders, sums] });
  await moveChanges({ database: older, store: older.openedStore, tables: [orders[definition]] });
  let isFirst = true;
  const database: TransactionRunner = {
    transact: async (run, options) => {
      if (isFirst) {
        isFirst = false;
        // The older process has read the attachments, and not yet the outbox.
        await attachTables(other, [newer]);
        await other.drain();
        await shop.sql("update T.orders set customer = 'c', note = 'new' where id = 1");
      }
      return await older.transact(run, options);
    },
  };
  const request = { database, store: older.openedStore, tables: [orders[definition]] };
  expect(await moveChanges(request)).toMatchObject({ isContended: true });
  await other.drain();
  expect((await rowsOf(other, newer))[0]).toEqual([1, { customer: "c", total: 1, note: "new" }]);
});
