import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Database, float, int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop, sums } from "./shop.js";

/** What somebody who knows nothing of this library may do to an attached table, with PostgreSQL's own programs. */

const exec = promisify(execFile);

let shop: Shop;
let orders: ReturnType<Shop["declare"]>["orders"];
let db: Database;

beforeEach(async () => {
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
  db = await openAlone(await storeAt(shop.place), { observers: [declared.add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
});

afterEach(async () => {
  await db.close();
  await shop[Symbol.asyncDispose]();
});

async function run(program: string, args: readonly string[], input?: string): Promise<void> {
  const connection = ["-h", shop.place.host, "-U", "postgres", "-d", "postgres"];
  const running = exec(program, [...connection, ...args]);
  running.child.stdin!.end(input);
  await running;
}

const psql = (script: string) => run("psql", ["-X", "-v", "ON_ERROR_STOP=1", "-f", "-"], shop.text(script));

/** Dumps the orders, runs SQL, and restores them. */
async function restored(
  dumped: readonly string[],
  between: string,
  options: readonly string[],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-dump-"));
  try {
    const file = join(folder, "orders.dump");
    await run("pg_dump", ["-Fc", "-t", `${shop.schema}.orders`, "-f", file, ...dumped]);
    await psql(between);
    await run("pg_restore", [...options, file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Expects that the table is parked with this reason, and that attaching it again brings everything. */
async function expectParked(reason: RegExp): Promise<void> {
  const [status] = await attachedTables(db, [orders]);
  expect(status!.problems).toEqual([expect.stringMatching(reason)]);
  await expect(db.drain()).rejects.toMatchObject({ code: "SCHEMA", message: expect.stringMatching(reason) });
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
  await shop.sql("update T.orders set total = total + 1");
  await shop.expectEqual(db, orders);
}

const another = /orders" is another table than the one that was attached/;

describe("parks the table until it is attached again", () => {
  test("a table that was dropped and created again", async () => {
    await psql(`drop table T.orders;
      create table T.orders (id int primary key, customer text, total float8);
      insert into T.orders values (2, 'new', 20);`);
    await expectParked(another);
  });

  test("a table that `pg_restore --clean` made again, with its triggers", async () => {
    await restored([], "update T.orders set total = 50; delete from T.orders where id = 1;", ["--clean"]);
    await expectParked(another);
  });

  test("a data-only restore that disabled the triggers meanwhile", async () => {
    await restored(["--data-only"], "truncate T.orders;", ["--data-only", "--disable-triggers"]);
    await expectParked(/Triggers of .*orders" are missing or disabled/);
  });

  test("triggers that were disabled and enabled again", async () => {
    await psql(`begin; alter table T.orders disable trigger all; update T.orders set total = 50;
      alter table T.orders enable trigger all; commit;`);
    await expectParked(/Triggers of .*orders" are missing or disabled/);
  });

  test("a trigger with the name of ours", async () => {
    await psql(`create function T.nothing() returns trigger language plpgsql as 'begin return null; end';
      drop trigger "!percolatordb row" on T.orders;
      create trigger "!percolatordb row" after insert on T.orders for each row execute function T.nothing();
      alter table T.orders enable always trigger "!percolatordb row";
      insert into T.orders values (4, 'unseen', 4);`);
    await expectParked(/Triggers of .*orders" are missing or disabled/);
  });

  test("a new table that took the place of the attached one, with rows that were copied in SQL", async () => {
    await psql(`create table T.next (like T.orders including all); insert into T.next select * from T.orders;
      begin; alter table T.orders rename to former; alter table T.next rename to orders; commit;
      update T.orders set total = 9 where id = 1;`);
    await expectParked(another);
  });

  test("a primary key that was dropped, so that two rows may have one key", async () => {
    await psql(
      "alter table T.orders drop constraint orders_pkey; insert into T.orders values (1, 'twice', 5);",
    );
    const reason = /orders": its primary key was \(id\) and is now none/;
    await expect(db.drain()).rejects.toThrow(reason);
    await expect(attachTables(db, [orders])).rejects.toThrow(/has no primary key/);
    await psql(`delete from T.orders where customer = 'twice'; alter table T.orders add primary key (id);`);
    await attachTables(db, [orders]);
    await shop.expectEqual(db, orders);
  });

  test("a primary key of other columns", async () => {
    await psql("alter table T.orders drop constraint orders_pkey, add primary key (id, customer);");
    await expect(db.drain()).rejects.toThrow(/its primary key was \(id\) and is now \(id, customer\)/);
    await psql("alter table T.orders drop constraint orders_pkey, add primary key (id);");
    await attachTables(db, [orders]);
    await shop.expectEqual(db, orders);
  });

  test("a primary key that was missing while two rows had one key", async () => {
    await psql(`begin; alter table T.orders drop constraint orders_pkey; insert into T.orders values (1, 'new', 5);
      delete from T.orders where customer = 'a'; alter table T.orders add primary key (id); commit;`);
    await expectParked(/orders": its primary key was dropped and made again/);
  });

  test("a primary key that became deferrable", async () => {
    await psql(`alter table T.orders drop constraint orders_pkey, add primary key (id) deferrable;
      update T.orders set id = id + 1;`);
    await expect(db.drain()).rejects.toThrow(/orders": its primary key was dropped and made again/);
    await expect(attachTables(db, [orders])).rejects.toThrow(/The primary key of .*orders" is deferrable/);
    await psql("alter table T.orders drop constraint orders_pkey, add primary key (id);");
    await attachTables(db, [orders]);
    await shop.expectEqual(db, orders);
  });

  test("two columns whose names were swapped", async () => {
    await psql(`alter table T.orders add paid float8; update T.orders set paid = 100;
      alter table T.orders rename total to x; alter table T.orders rename paid to total;`);
    await expectParked(/column "total": it was dropped and added again, or another column got its name/);
  });
});

test("two attached tables that swapped their names are both parked", async () => {
  await psql(`create table T.archive (id int primary key, customer text, total float8);
    insert into T.archive values (1, 'old', 100);`);
  const archive = attach(`${shop.schema}.archive`, {
    key: tuple(int()),
    columns: { customer: text(), total: float() },
  });
  const { orders: same, add } = shop.declare();
  await db.close();
  db = await openAlone(await storeAt(shop.place), { observers: [add], tables: [same, archive, sums] });
  await attachTables(db, [archive]);
  await db.drain();
  await psql(`begin; alter table T.orders rename to x; alter table T.archive rename to orders;
    alter table T.x rename to archive; commit; update T.orders set total = 101;`);
  for (const { problems } of await attachedTables(db, [same, archive])) {
    expect(problems).toEqual([expect.stringMatching(/is another table than the one that was attached/)]);
  }
  await expect(db.drain()).rejects.toThrow(/is another table/);
  await attachTables(db, [same, archive]);
  await shop.expectEqual(db, same);
  await psql("update T.orders set total = 102; delete from T.archive where id = 3;");
  await shop.expectEqual(db, same);
  expect(await rowsOf(db, archive)).toEqual([
    [1, { customer: "a", total: 1 }],
    [2, { customer: "b", total: 2 }],
  ]);
});

test("a database that `pg_dump` and `pg_restore` copied has all triggers, and goes on when it is attached again", async () => {
  const copy = `copy_of_${shop.schema}`;
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-dump-"));
  try {
    const file = join(folder, "all.dump");
    const ours = shop.text("P.").slice(0, -1);
    await run("pg_dump", ["-Fc", "-n", shop.schema, "-n", ours, "-f", file]);
    await shop.sql(`create database ${copy}`);
    await exec("pg_restore", ["-h", shop.place.host, "-U", "postgres", "-d", copy, "--exit-on-error", file]);
    const location = shop.place.location.replace("/postgres?", `/${copy}?`);
    const { orders: same, add } = shop.declare();
    await using other = await openAlone(location, { observers: [add], tables: [same, sums] });
    await expect(other.drain()).rejects.toThrow(another);
    await attachTables(other, [same]);
    await exec("psql", [
      ...["-X", "-h", shop.place.host, "-U", "postgres", "-d", copy],
      ...[
        "-c",
        `update ${shop.schema}.orders set id = 9 where id = 1; delete from ${shop.schema}.orders where id = 2`,
      ],
    ]);
    await other.drain();
    expect(await rowsOf(other, same)).toEqual([
      [3, { customer: "c", total: 3 }],
      [9, { customer: "a", total: 1 }],
    ]);
  } finally {
    await shop.sql(`drop database if exists ${copy} with (force)`);
    await rm(folder, { recursive: true });
  }
});

describe("goes on", () => {
  test("an index of the primary key that was built again", async () => {
    await psql("reindex table concurrently T.orders;");
    await psql("reindex table T.orders; cluster T.orders using orders_pkey; update T.orders set total = 9;");
    await shop.expectEqual(db, orders);
  });

  test("a primary key whose constraint got another number in `pg_upgrade`, and then another index", async () => {
    const generation = () => shop.sql("select generation from P.attachments");
    const before = await generation();
    await shop.sql(`update P.attachments set definition =
      (definition::jsonb || jsonb_build_object('keyConstraint', '1 ' || 'T.orders_pkey'::regclass::oid))::text`);
    await shop.expectEqual(db, orders);
    await psql("reindex table concurrently T.orders; update T.orders set total = 9;");
    await shop.expectEqual(db, orders);
    expect(await generation()).toEqual(before);
  });

  test("a key that changes into one that its collation takes for equal", async () => {
    await psql(`create collation T.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create table T.people (name text collate T.folded primary key, age int); insert into T.people values ('Ann', 1);`);
    const people = attach(`${shop.schema}.people`, { key: tuple(text()), columns: { age: int() } });
    await using other = await openAlone(await storeAt(shop.place), { tables: [orders, people] });
    await attachTables(other, [people]);
    await other.drain();
    await psql("update T.people set name = 'ANN';");
    await other.drain();
    expect(await rowsOf(other, people)).toEqual([["ANN", { age: 1 }]]);
  });

  test("a table that was renamed and got its name back, before or after a worker looked", async () => {
    await psql(`alter table T.orders rename to x; update T.x set total = 7 where id = 1;
      alter table T.x rename to orders;`);
    await shop.expectEqual(db, orders);
    await psql("alter table T.orders rename to x; insert into T.x values (4, 'd', 4);");
    await expect(db.drain()).rejects.toThrow(/There is no table .*orders" any more/);
    await psql("update T.x set total = 8 where id = 2; alter table T.x rename to orders;");
    await attachTables(db, [orders]);
    await shop.expectEqual(db, orders);
  });

  test("`TRUNCATE` and a dropped table in transactions that are rolled back, while a worker follows", async () => {
    await using worker = db.work();
    await psql(`begin; truncate T.orders; insert into T.orders values (9, 'no', 9); rollback;
      begin; drop table T.orders; rollback; update T.orders set total = 4 where id = 1;`);
    await expect.poll(() => db.transact((tx) => tx.get(orders.total, [1]))).toBe(4);
    await worker.stop();
    await shop.expectEqual(db, orders);
  });

  test("a data-only restore", async () => {
    await restored(["--data-only"], "truncate T.orders; insert into T.orders values (9, 'x', 9);", [
      "--data-only",
      "--single-transaction",
    ]);
    await shop.expectEqual(db, orders);
  });

  test("the type of a key's column cannot be changed, and the attempt changes nothing", async () => {
    await expect(psql("alter table T.orders alter id type bigint;")).rejects.toThrow(
      /cannot alter type of a column used in a trigger definition/,
    );
    await psql(
      "vacuum full T.orders; cluster T.orders using orders_pkey; insert into T.orders values (4, 'd', 4);",
    );
    await shop.expectEqual(db, orders);
  });
});
