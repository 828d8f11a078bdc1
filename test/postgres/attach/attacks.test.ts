import { boolean, bytes, date, float, int, json, text, tuple } from "percolatordb";
import { attach, attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop, sums } from "./shop.js";

let shop: Shop;

beforeEach(async () => {
  shop = await Shop.create();
});

afterEach(() => shop[Symbol.asyncDispose]());

describe("what a row holds", () => {
  test("JSON scalars arrive as they are", async () => {
    await shop.sql("create table T.docs (id int primary key, doc json)");
    const docs = attach(`${shop.schema}.docs`, { key: tuple(int()), columns: { doc: json<unknown>() } });
    await using db = await openAlone(await storeAt(shop.place), { tables: [docs] });
    const insert = `insert into T.docs values (K, '"hello"'), (K + 1, '"123"'), (K + 2, 'true'), (K + 3, '"a\\u0000b"'), (K + 4, '[1e2]')`;
    await shop.sql(insert.replaceAll("K", "0"));
    await attachTables(db, [docs]);
    await db.drain();
    await shop.sql(insert.replaceAll("K", "10"));
    await db.drain();
    const values = ["hello", "123", true, "a\u0000b", [100]];
    expect(await rowsOf(db, docs)).toEqual([
      ...values.map((doc, i) => [i, { doc }]),
      ...values.map((doc, i) => [i + 10, { doc }]),
    ]);
  });

  test("numbers keep all their digits as text and bigint", async () => {
    await shop.sql("create table T.n (id int primary key, a numeric, b text)");
    const n = attach(`${shop.schema}.n`, { key: tuple(int()), columns: { a: text(), b: text() } });
    await using db = await openAlone(await storeAt(shop.place), { tables: [n] });
    await attachTables(db, [n]);
    await shop.sql(`insert into T.n values (1, 12345678901234567890.10, '"quoted" \\ 12')`);
    await db.drain();
    expect(await rowsOf(db, n)).toEqual([[1, { a: "12345678901234567890.10", b: '"quoted" \\ 12' }]]);
  });

  test("what a session has set does not change what is logged", async () => {
    await shop.sql("create table T.r (id int primary key, r daterange, m money, at timestamptz)");
    const r = attach(`${shop.schema}.r`, {
      key: tuple(int()),
      columns: { r: text(), m: text(), at: text() },
    });
    await using db = await openAlone(await storeAt(shop.place), { tables: [r] });
    await attachTables(db, [r]);
    const values = "daterange('2024-01-02', '2024-02-03'), 1.5::money, '2024-01-02 03:04:05+00'";
    await shop.sql(`insert into T.r values (1, ${values})`);
    await shop.sql(
      `begin; set local datestyle = 'German'; set local lc_monetary = 'C'; set local timezone = 'Asia/Tokyo';
       insert into T.r values (2, ${values}); commit`,
    );
    await db.drain();
    const rows = (await rowsOf(db, r)) as [number, unknown][];
    expect(rows[1]![1]).toEqual(rows[0]![1]);
  });

  test("a column of a domain fits the codecs of the type that it restricts", async () => {
    await shop.sql(`create domain T.amount as numeric(10, 2); create domain T.price as T.amount check (value >= 0);
      create domain T.quantity as int; create domain T.day as date; create domain T.flag as boolean; create domain T.raw as bytea;
      create table T.lines (id int primary key, price T.price, count T.quantity, day T.day, flag T.flag, raw T.raw)`);
    const lines = attach(`${shop.schema}.lines`, {
      key: tuple(int()),
      columns: { price: float(), count: int(), day: date(), flag: boolean(), raw: bytes() },
    });
    await using db = await openAlone(await storeAt(shop.place), { tables: [lines] });
    const insert = "insert into T.lines values (1, 1.5, 2, '2024-01-02', true, '\\x0102')";
    await shop.sql(insert);
    await attachTables(db, [lines]);
    await db.drain();
    await shop.sql(insert.replace("(1,", "(2,"));
    await db.drain();
    const expected = {
      price: 1.5,
      count: 2,
      day: new Date("2024-01-02"),
      flag: true,
      raw: new Uint8Array([1, 2]),
    };
    expect(await rowsOf(db, lines)).toEqual([
      [1, expected],
      [2, expected],
    ]);
  });

  test("a column may have any name", async () => {
    await shop.sql("create table T.names (t int primary key, c text, k text, content text, p text)");
    const columns = { t: int(), c: text(), k: text(), content: text(), p: text() };
    const names = attach(`${shop.schema}.names`, { key: tuple(int()), columns });
    await using db = await openAlone(await storeAt(shop.place), { tables: [names] });
    await shop.sql("insert into T.names values (1, 'c', 'k', 'content', 'p')");
    await attachTables(db, [names]);
    await db.drain();
    const expected = { t: 1, c: "c", k: "k", content: "content", p: "p" };
    expect(await rowsOf(db, names)).toEqual([[1, expected]]);
  });

  test("a column may have the name of a property that every object has, also in the key", async () => {
    await shop.sql(
      'create table T.races (id int, constructor text, "toString" text, primary key (id, constructor))',
    );
    const races = attach(`${shop.schema}.races`, {
      key: tuple(int(), text()),
      columns: { constructor: text(), toString: text() },
    });
    await using db = await openAlone(await storeAt(shop.place), { tables: [races] });
    await shop.sql("insert into T.races values (1, 'Lotus', 'a'), (2, 'Brabham', 'b')");
    await attachTables(db, [races]);
    await db.drain();
    await shop.sql("delete from T.races where id = 1");
    await attachTables(db, [races]);
    await db.drain();
    expect(await rowsOf(db, races)).toEqual([[2, { constructor: "Brabham", toString: "b" }]]);
    await shop.sql('alter table T.races drop "toString"');
    await expect(db.drain()).rejects.toThrow(/races" has no column "toString" any more/);
  });
});

describe("keys", () => {
  test("columns that a primary key's index only includes are no part of the key", async () => {
    await shop.sql("create table T.wide (id int, a text, primary key (id) include (a))");
    const wide = attach(`${shop.schema}.wide`, { key: tuple(int()), columns: { a: text() } });
    await using db = await openAlone(await storeAt(shop.place), { tables: [wide] });
    await attachTables(db, [wide]);
    await shop.sql("insert into T.wide values (1, 'x')");
    await db.drain();
    expect(await rowsOf(db, wide)).toEqual([[1, { a: "x" }]]);
  });

  test("a deferrable primary key is refused: two rows may share a key for a moment", async () => {
    await shop.sql("create table T.late (id int primary key deferrable, a text)");
    const late = attach(`${shop.schema}.late`, { key: tuple(int()), columns: { a: text() } });
    await using db = await openAlone(await storeAt(shop.place), { tables: [late] });
    await expect(attachTables(db, [late])).rejects.toThrow(/deferrable/);
  });
});

describe("triggers of the application that write the same table", () => {
  const trigger = (body: string) => `
    create function T.again() returns trigger language plpgsql as $f$ begin
      if pg_trigger_depth() > 1 then return null; end if;
      ${body}
      return null;
    end $f$;
    create trigger again after insert or update or delete on T.orders for each row execute function T.again()`;

  test.each([
    [
      "updates the next row",
      "update T.orders set total = total + 1000 where id = new.id + 1;",
      "update T.orders set total = 1",
    ],
    ["deletes the next row", "delete from T.orders where id = new.id + 1;", "update T.orders set total = 1"],
    [
      "inserts a row that the statement deleted",
      "insert into T.orders values (case old.id when 1 then 2 else old.id + 100 end, 'again', 7);",
      "delete from T.orders",
    ],
    [
      "inserts a row at a key that the statement left",
      "insert into T.orders values (case old.id when 1 then 2 else old.id + 100 end, 'again', 7);",
      "update T.orders set id = id + 10",
    ],
  ])("one that %s", async (_, body, statement) => {
    const { orders, add } = shop.declare();
    await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
    await using db = await openAlone(await storeAt(shop.place), { observers: [add], tables: [orders, sums] });
    await attachTables(db, [orders]);
    await shop.expectEqual(db, orders);
    await shop.sql(trigger(body));
    await shop.sql(statement);
    await shop.expectEqual(db, orders);
  });
});

describe("declarations", () => {
  test("a program with other columns than the attached ones says so, and moves nothing wrong", async () => {
    const { orders } = shop.declare();
    await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
    await attachTables(db, [orders]);
    await shop.sql("alter table T.orders add note text");
    await shop.sql("insert into T.orders values (1, 'a', 1, 'n')");
    await db.drain();
    expect(await rowsOf(db, orders)).toEqual([[1, { customer: "a", total: 1 }]]);
    const newer = attach(`${shop.schema}.orders`, {
      key: tuple(int()),
      columns: { customer: text(), total: float(), note: text() },
    });
    await using other = await openAlone(await storeAt(shop.place), { tables: [newer] });
    await expect(other.drain()).rejects.toThrow(/declares other columns/);
    await attachTables(other, [newer]);
    await other.drain();
    expect(await rowsOf(other, newer)).toEqual([[1, { customer: "a", total: 1, note: "n" }]]);
    // The older program must not move rows without the new column.
    await shop.sql("insert into T.orders values (2, 'b', 2, 'm')");
    await expect(db.drain()).rejects.toThrow(/declares other columns/);
    await other.drain();
    expect(await rowsOf(other, newer)).toContainEqual([2, { customer: "b", total: 2, note: "m" }]);
  });

  test("two SQL tables cannot have one name here", async () => {
    const { orders } = shop.declare();
    await shop.sql("create table T.more (id int primary key, customer text)");
    const more = attach(`${shop.schema}.more`, {
      name: "orders",
      key: tuple(int()),
      columns: { customer: text() },
    });
    await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
    await attachTables(db, [orders]);
    await expect(attachTables(db, [more])).rejects.toThrow(/is the name of .*orders/);
  });

  test("a failed call attaches nothing", async () => {
    const { orders } = shop.declare();
    await using db = await openAlone(await storeAt(shop.place), { tables: [orders] });
    await using role = await shop.createRole();
    await shop.sql(
      `grant usage on schema T to ${role.name}; grant select, trigger on T.orders to ${role.name}`,
    );
    await using lowly = await openAlone(role.location, { tables: [orders], create: false });
    await expect(attachTables(lowly, [orders])).rejects.toThrow(/may not create the outbox/);
    await shop.sql(`grant create on schema P to ${role.name}`);
    await expect(attachTables(lowly, [orders])).rejects.toThrow(/Only the owner of .*orders" may attach it/);
    expect((await shop.sql("select to_regclass($1) as t", [shop.text("P.outbox")]))[0]!.t).toBeNull();
    await expect(db.drain()).rejects.toThrow(/is not attached to this database yet/);
    await attachTables(db, [orders]);
    await db.drain();
  });
});
