import { type Database, float, int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, detachTable } from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { rowsOf, Shop, sums } from "./shop.js";

let shop: Shop;
let db: Database;
let orders: ReturnType<Shop["declare"]>["orders"];

beforeEach(async () => {
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  db = await openAlone(shop.place.location, { observers: [declared.add], tables: [orders, sums] });
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
  await expect(db.drain()).rejects.toThrow(/Triggers of .*orders" are missing or disabled/);
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

test("a generated column arrives as it is stored, and an identity column may be the key", async () => {
  await shop.sql(`create table T.lines (id int generated always as identity primary key, price float8,
    gross float8 generated always as (price * 2) stored)`);
  const lines = attach(`${shop.schema}.lines`, {
    key: tuple(int()),
    columns: { price: float(), gross: float() },
  });
  await using other = await openAlone(shop.place.location, { tables: [orders, lines] });
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
  await using other = await openAlone(shop.place.location, { tables: [orders, moods] });
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
