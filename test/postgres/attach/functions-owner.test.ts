import { type Database, int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop, type ShopRole, sums } from "./shop.js";

/** The triggers' functions run as the role that owns the outbox. Here it is no superuser. */

let shop: Shop;
let role: ShopRole;
let orders: ReturnType<Shop["declare"]>["orders"];
let db: Database;

beforeEach(async () => {
  shop = await Shop.create();
  await (await openAlone(await storeAt(shop.place), {})).close();
  role = await shop.createRole();
  await shop.sql(`grant usage, create on schema T to ${role.name}; grant create on schema P to ${role.name};
    create table T.jobs (id int primary key); create function T.job() returns trigger language plpgsql as
      $f$ begin update T.orders set total = 10 where id = new.id; return null; end $f$;
    create trigger job after insert on T.jobs for each row execute function T.job();
    insert into T.orders values (1, 'a', 1), (2, 'b', 2); alter table T.orders owner to ${role.name}`);
  const declared = shop.declare();
  orders = declared.orders;
  db = await openAlone(role.location, {
    ...{ observers: [declared.add], tables: [orders, sums], create: false },
  });
});

afterEach(async () => {
  await db.close();
  await role[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
});

/** A trigger writes row 1, and then the transaction does. So our trigger looks for the newest row. */
const nested = "begin; insert into T.jobs values (1); update T.orders set total = 11 where id = 1; commit";

const hide = "alter table T.orders enable row level security, force row level security";
const show = "alter table T.orders disable row level security, no force row level security";
const hidden = /Row-level security hides rows of .*orders" from the role role_\d+_\d+, which owns the outbox/;
const unread = /A trigger of the application wrote .*orders", and ours could not read the newest row/;

async function attached(): Promise<void> {
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
}

describe("row-level security for the role that owns the outbox", () => {
  test("refuses to attach, before anything is changed", async () => {
    await shop.sql(hide);
    await expect(attachTables(db, [orders])).rejects.toMatchObject({
      code: "SCHEMA",
      message: expect.stringMatching(hidden),
    });
    expect((await shop.sql("select to_regclass($1) as t", [shop.text("P.outbox")]))[0]!.t).toBeNull();
    await shop.sql(`alter role ${role.name} bypassrls`);
    await attached();
  });

  test("parks an attached table, and no row is lost", async () => {
    await attached();
    await shop.sql(hide);
    await shop.sql(nested);
    const [status] = await attachedTables(db);
    expect(status!.problems).toEqual([expect.stringMatching(hidden)]);
    await expect(db.drain()).rejects.toThrow(hidden);
    expect(await rowsOf(db, orders)).toContainEqual([1, { customer: "a", total: 1 }]);
    await shop.sql(show);
    await attached();
  });

  test("parks the table also if it was active only for a moment", async () => {
    await attached();
    await shop.sql(hide);
    await shop.sql(nested);
    await shop.sql(show);
    await expect(db.drain()).rejects.toThrow(unread);
    expect(await rowsOf(db, orders)).toContainEqual([1, { customer: "a", total: 1 }]);
    await attached();
    await shop.sql(nested.replaceAll("1)", "2)"));
    await shop.expectEqual(db, orders);
  });

  test("during a copy, too", async () => {
    await attachTables(db, [orders]);
    await shop.sql(hide);
    await shop.sql(nested);
    await shop.sql(show);
    await expect(db.drain()).rejects.toThrow(unread);
    await attached();
  });
});

describe("writers do not fail after a trigger wrote the table", () => {
  test("if its primary key was dropped", async () => {
    await attached();
    await shop.sql("alter table T.orders drop constraint orders_pkey");
    await shop.sql(nested);
    await expect(db.drain()).rejects.toThrow(/its primary key was \(id\) and is now none/);
    await shop.sql("alter table T.orders add primary key (id)");
    await attached();
  });

  test("if its primary key is a column whose type has an operator of its own", async () => {
    await attached();
    const of = "language internal immutable strict as";
    await shop.sql(`create type T.odd; create function T.odd_in(cstring) returns T.odd ${of} 'int4in';
      create function T.odd_out(T.odd) returns cstring ${of} 'int4out';
      create type T.odd (input = T.odd_in, output = T.odd_out, like = int4);
      create function T.odd_eq(T.odd, T.odd) returns boolean ${of} 'int4eq';
      create function T.odd_cmp(T.odd, T.odd) returns int ${of} 'btint4cmp';
      create operator T.= (leftarg = T.odd, rightarg = T.odd, function = T.odd_eq);
      create operator class T.odd_ops default for type T.odd using btree
        as operator 3 T.= (T.odd, T.odd), function 1 T.odd_cmp(T.odd, T.odd);
      alter table T.orders drop constraint orders_pkey, add odd T.odd`);
    await shop.sql("update T.orders set odd = id::text::T.odd; alter table T.orders add primary key (odd)");
    await shop.sql(nested);
    await expect(db.drain()).rejects.toThrow(/its primary key was \(id\) and is now \(odd\)/);
    await shop.sql("alter table T.orders drop constraint orders_pkey, add primary key (id)");
    await attached();
  });

  test("if the role that owns the outbox may not read it any more", async () => {
    await attached();
    await shop.sql(`grant usage on schema T to public; alter table T.orders owner to postgres;
      revoke all on T.orders from ${role.name}`);
    await shop.sql(nested);
    const [status] = await attachedTables(db);
    expect(status!.problems).toEqual([
      expect.stringMatching(
        new RegExp(
          `The role ${role.name}, which owns the outbox, .*: grant select on .*orders to ${role.name}\\.`,
        ),
      ),
    ]);
    await shop.sql(`grant select on T.orders to ${role.name}`);
    await expect(db.drain()).rejects.toThrow(unread);
    await shop.sql(`alter table T.orders owner to ${role.name}`);
    await attached();
  });
});

test("a role that owns the outbox and may not read the table is told so before anything is changed", async () => {
  await attached();
  const [owner, deploy] = [`owner_${role.name}`, `deploy_${role.name}`];
  await shop.sql(
    `create role ${owner}; create role ${deploy} login in role ${owner}, ${role.name};
    create schema S_own authorization ${owner}; create table S_own.more (id int primary key, a text);
    alter table S_own.more owner to ${owner}`.replaceAll("S_own", `${shop.schema}_own`),
  );
  try {
    const more = attach(`${shop.schema}_own.more`, { key: tuple(int()), columns: { a: text() } });
    await using other = await openAlone(role.location.replace(role.name, deploy), {
      ...{ tables: [orders, more], create: false },
    });
    const before = await shop.sql("select * from P.attachments");
    const lacks = new RegExp(
      `The role ${role.name}, which owns the outbox, .*: grant usage on schema ${shop.schema}_own to ${role.name}; grant select on ${shop.schema}_own.more to ${role.name}\\.`,
    );
    await expect(attachTables(other, [more])).rejects.toMatchObject({
      code: "SCHEMA",
      message: expect.stringMatching(lacks),
    });
    expect(await shop.sql("select * from P.attachments")).toEqual(before);
    await shop.sql(
      `grant usage on schema ${shop.schema}_own to ${role.name}; grant select on ${shop.schema}_own.more to ${role.name}`,
    );
    await attachTables(other, [more]);
    await shop.sql(`insert into ${shop.schema}_own.more values (1, 'x')`);
    await other.drain();
    expect(await rowsOf(other, more)).toEqual([[1, { a: "x" }]]);
  } finally {
    await shop.sql(
      `drop schema ${shop.schema}_own cascade; drop owned by ${owner}, ${deploy}; drop role ${owner}, ${deploy}`,
    );
  }
});

test("a privilege on the database's schema that was taken back is shown with what gives it back", async () => {
  await attached();
  await using other = await openAlone(await storeAt(shop.place), { tables: [orders, sums] });
  await shop.sql(`revoke all on schema P from ${role.name}`);
  await expect(shop.sql("insert into T.orders values (3, 'c', 3)")).rejects.toThrow(/permission denied/);
  const [status] = await attachedTables(other);
  const advice = /: (grant usage on schema .*)\.$/.exec(status!.problems[0]!)![1]!;
  // Nothing was written, so nothing is missing, and the table is not parked.
  await shop.pool.query(advice);
  await shop.sql("insert into T.orders values (3, 'c', 3)");
  await shop.expectEqual(db, orders);
  expect((await attachedTables(db))[0]!.problems).toEqual([]);
});

test("a key that changes into one that its collation takes for equal, after a trigger wrote the table", async () => {
  await shop.sql(`create collation T.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create table T.people (name text collate T.folded primary key, orders int); insert into T.people values ('ann', 3);
    alter table T.people owner to ${role.name}`);
  await shop.sql(`create or replace function T.job() returns trigger language plpgsql as
    $f$ begin update T.people set orders = new.id; return null; end $f$`);
  const people = attach(`${shop.schema}.people`, { columns: { orders: int() } });
  await using other = await openAlone(role.location, { tables: [people], create: false });
  await attachTables(other, [people]);
  await other.drain();
  await shop.sql("begin; insert into T.jobs values (7); update T.people set name = 'Ann'; commit");
  await other.drain();
  await using snapshot = await other.snapshot();
  const found: unknown[] = [];
  for await (const { row, value } of snapshot.scan(people)) found.push([row, value]);
  expect(found).toEqual([["Ann", { orders: 7 }]]);
});
