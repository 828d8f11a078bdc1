import { bytes, family, float, int, json, open, table, text, tuple } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import {
  attach,
  dropPostgresViews,
  type PostgresViewsOptions,
  postgresStore,
  postgresViews,
} from "percolatordb/postgres";
import { Pool } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CommandLine, eventually, Printed } from "../../support/command-line.js";
import { newPlace, type PostgresPlace, placeAt, removePlace } from "../../support/postgres/index.js";
import { FaultyPool } from "../faulty-pool.js";

let place: PostgresPlace;
let pool: Pool;
let schema: string;

beforeEach(async () => {
  place = await newPlace();
  schema = `${place.schema}_views`;
  pool = new Pool({ host: place.host, user: "postgres", database: "postgres", max: 4 });
});

afterEach(async () => {
  await pool.query(`drop schema if exists ${quoted(schema)} cascade`);
  await pool.end();
  await removePlace(place);
});

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const view = (name: string) => `${quoted(schema)}.${quoted(name)}`;
const select = async (query: string) => (await pool.query(query)).rows;
const shop = table("shop", { total: float(), tags: family(int()) });

test("a role that may only read the view reads it, and nothing else", async () => {
  await using db = await open(place.location, { tables: [shop] });
  await db.transact((tx) => tx.set(shop.total, "a", 1));
  await postgresViews(db, [shop]);
  const role = `views_${process.pid}_${place.schema.replace(/\D/g, "")}`;
  await select(`create role ${role} login`);
  const reader = new Pool({ host: place.host, user: role, database: "postgres", max: 1 });
  try {
    await select(
      `grant usage on schema ${quoted(schema)} to ${role}; grant select on ${view("shop")} to ${role}`,
    );
    const read = async () => (await reader.query(`select * from ${view("shop")} where key = 'a'`)).rows;
    expect(await read()).toEqual([{ key: "a", total: 1 }]);
    await expect(reader.query(`select * from ${quoted(place.schema)}.cells`)).rejects.toThrow(
      "permission denied",
    );
    await expect(reader.query(`select * from ${view("shop_tags")}`)).rejects.toThrow("permission denied");
    await expect(reader.query(`delete from ${view("shop")}`)).rejects.toThrow();
    // Another order of the columns needs a new view. Its readers stay.
    await using other = await open(place.location, {
      tables: [table("shop", { note: text(), total: float() })],
    });
    const { views } = await postgresViews(other, [table("shop", { note: text(), total: float() })]);
    expect(views).toMatchObject([{ name: "shop", state: "changed" }]);
    expect(await read()).toEqual([{ key: "a", note: null, total: 1 }]);
    const owner = placeAt(place.host, place.schema, role);
    await select(
      `grant usage on schema ${quoted(place.schema)} to ${role}; grant select on all tables in schema ${quoted(place.schema)} to ${role}`,
    );
    await using reading = await open(owner.location, { readOnly: true });
    await expect(postgresViews(reading, [shop])).rejects.toMatchObject({ code: "STORE" });
  } finally {
    await reader.end();
    await select(`drop owned by ${role}; drop role ${role}`);
  }
});

test("views change with their tables, and stay if nothing changed", async () => {
  await using db = await open(place.location, { tables: [shop] });
  const states = async (...args: Parameters<typeof postgresViews>) =>
    (await postgresViews(...args)).views.map(({ name, state }) => `${name} ${state}`);
  expect(await states(db, [shop], { dryRun: false })).toEqual(["shop created", "shop_tags created"]);
  expect(await states(db, [shop])).toEqual(["shop unchanged", "shop_tags unchanged"]);
  await select(`create view ${view("mine")} as select * from ${view("shop")}`);
  const longer = table("shop", { total: float(), more: text() });
  await using later = await open(place.location, { tables: [longer] });
  expect(await states(later, [longer])).toEqual(["shop changed"]);
  expect(await select(`select * from ${view("shop_tags")}`)).toEqual([]);
  // A view of somebody else's depends on it.
  const other = table("shop", { more: text() });
  await expect(postgresViews(later, [other])).rejects.toMatchObject({ code: "STORE" });
  expect(await select(`select more from ${view("shop")}`)).toEqual([]);
  await select(`drop view ${view("mine")}`);
  expect(await states(later, [longer], { removeOthers: true, dryRun: true })).toEqual([
    "shop unchanged",
    "shop_tags removed",
  ]);
  expect(await states(later, [longer], { removeOthers: true })).toEqual([
    "shop unchanged",
    "shop_tags removed",
  ]);
});

test("what was not made here is neither replaced nor removed", async () => {
  await using db = await open(place.location, { tables: [shop] });
  await select(`create schema ${quoted(schema)}; create table ${view("shop")} (x int)`);
  await expect(postgresViews(db, [shop])).rejects.toMatchObject({
    code: "SCHEMA",
    message: expect.stringContaining("is not a view of this package"),
  });
  await postgresViews(db, [shop], { views: { shop: "shop two" } });
  await select(`drop table ${view("shop")}; create view ${view("shop")} as select 1 as x`);
  await expect(postgresViews(db, [shop])).rejects.toMatchObject({ code: "SCHEMA" });
  const { views } = await dropPostgresViews(db);
  expect(views.map(({ name }) => name).sort()).toEqual(["shop two", "shop_tags"]);
  expect(await select(`select x from ${view("shop")}`)).toEqual([{ x: 1 }]);
  const left = await select(
    `select relname from pg_class where relnamespace = '${quoted(place.schema).replaceAll("'", "''")}'::regnamespace and relname like 'view%' union all ` +
      `select proname from pg_proc where pronamespace = '${quoted(place.schema).replaceAll("'", "''")}'::regnamespace and proname like 'view%' and proname not like 'view_page%'`,
  );
  expect(left).toEqual([]);
});

test("views of a database whose schema was renamed are still its views", async () => {
  const renamed = `${place.schema} renamed`;
  {
    await using db = await open(place.location, { tables: [shop] });
    await db.transact((tx) => tx.set(shop.total, "a", 1));
    await postgresViews(db, [shop]);
  }
  await select(`alter schema ${quoted(place.schema)} rename to ${quoted(renamed)}`);
  try {
    await using db = await open(placeAt(place.host, renamed).location, { tables: [shop] });
    await db.transact((tx) => tx.set(shop.total, "b", 2));
    expect(await select(`select key, total from ${view("shop")}`)).toEqual([
      { key: "a", total: 1 },
      { key: "b", total: 2 },
    ]);
    const [made] = (await postgresViews(db, [shop], { schema })).views;
    expect(made).toMatchObject({ name: "shop", state: "changed" });
    await postgresViews(db, [shop], { schema: `${schema} 2` });
    // The views that are left need the indexes and functions.
    await dropPostgresViews(db, { schema: `${schema} 2` });
    expect(await select(`select total from ${view("shop")} where key = 'b'`)).toEqual([{ total: 2 }]);
    const { views } = await dropPostgresViews(db, { schema });
    expect(views.map(({ name }) => name).sort()).toEqual(["shop", "shop_tags"]);
  } finally {
    await select(`alter schema ${quoted(renamed)} rename to ${quoted(place.schema)}`);
  }
});

test("removing all views removes the schema that was made for them", async () => {
  await using db = await open(place.location, { tables: [shop] });
  await postgresViews(db, [shop]);
  await dropPostgresViews(db);
  expect(await select(`select 1 from pg_namespace where nspname = '${schema}'`)).toEqual([]);
  expect(await dropPostgresViews(db)).toMatchObject({ views: [], sql: "" });
  // Commits go on without the functions.
  await db.transact((tx) => tx.set(shop.total, "a", 2));
  await postgresViews(db, [shop]);
  expect(await select(`select total from ${view("shop")}`)).toEqual([{ total: 2 }]);
});

test("removing views that was interrupted can be repeated", async () => {
  await using db = await open(place.location, { tables: [shop] });
  await postgresViews(db, [shop]);
  await expect(dropPostgresViews(db, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "ABORTED",
  });
  expect(await select(`select * from ${view("shop")}`)).toEqual([]);
  // What a call that ends after the views leaves: the indexes and functions.
  await select(`drop schema ${quoted(schema)} cascade`);
  expect(await dropPostgresViews(db)).toMatchObject({
    views: [],
    sql: expect.stringContaining("drop index"),
  });
  expect(
    await select(
      `select relname from pg_class where relnamespace = '${quoted(place.schema).replaceAll("'", "''")}'::regnamespace and relname like 'view%'`,
    ),
  ).toEqual([]);
  expect(await dropPostgresViews(db)).toMatchObject({ views: [], sql: "" });
});

test("two programs may make the first views at the same time", async () => {
  await using db = await open(place.location, { tables: [shop] });
  await using other = await open(place.location, { tables: [shop] });
  await Promise.all([db, other].map((each) => postgresViews(each, [shop], { indexes: false })));
  expect(await select(`select * from ${view("shop")}`)).toEqual([]);
});

test("a server that cannot be reached is a StoreError", async () => {
  const faulty = new FaultyPool(place.host);
  await using db = await open(await postgresStore({ pool: faulty, schema: place.schema }), {
    tables: [shop],
  });
  const connect = faulty.connect.bind(faulty);
  let isAway = false;
  faulty.interfere = async (query, send) => {
    // The next connection is that on which an index is made.
    if (query.text.includes("create or replace function")) isAway = true;
    return await send();
  };
  faulty.connect = () => (isAway ? Promise.reject(new Error("refused")) : connect());
  await expect(postgresViews(db, [shop])).rejects.toMatchObject({
    code: "STORE",
    message: expect.stringContaining("refused"),
  });
  isAway = false;
  await db.close();
  await faulty.end();
});

test("a program and a reader to whom backslashes in SQL are escapes", async () => {
  const option = "-c standard_conforming_strings=off";
  const lists = table("lists", { note: json<string>(), tags: family(text()) }, { key: tuple(text(), int()) });
  const options = { tables: [shop, lists] };
  await using db = await open(`${place.location}&options=${encodeURIComponent(option)}`, options);
  await postgresViews(db, [shop, lists]);
  await db.transact((tx) => {
    tx.set(shop.total, "a\0", 1);
    tx.set(lists.note, ["b\0\x01", 2], "\\u0000\0\ud800");
    tx.set(lists.tags.at("t\\1"), ["c", 3], "nul\0");
  });
  const reader = new Pool({ host: place.host, user: "postgres", database: "postgres", options: option });
  try {
    const texts = ["shop where key = $1", "lists where key_1 = $1", "lists_tags where key_1 = $1"];
    for (const [i, key] of ["a\uFFFD", "b\uFFFD\x01", "c"].entries()) {
      const query = `select * from ${quoted(schema)}.${texts[i]}`;
      const { rows } = await pool.query(query, [key]);
      expect(rows).toHaveLength(1);
      expect((await reader.query(query, [key])).rows).toEqual(rows);
    }
  } finally {
    await reader.end();
  }
});

test("a table and a family may have the name of a property that every object has", async () => {
  const named = table("constructor", { toString: int(), valueOf: family(int()) });
  await using db = await open(place.location, { tables: [named] });
  const { views } = await postgresViews(db, [named], { views: {}, keys: {} });
  expect(views.map(({ name }) => name)).toEqual(["constructor", "constructor_valueOf"]);
  await db.transact((tx) => tx.set(named.toString, "a", 1));
  expect(await select(`select * from ${view("constructor")}`)).toEqual([{ key: "a", toString: "1" }]);
});

test("who may read only some columns keeps those that a changed view still has", async () => {
  const before = table("shop", { total: float(), secret: text(), gone: int() });
  await using db = await open(place.location, { tables: [before] });
  await postgresViews(db, [before]);
  const role = `views_${process.pid}_${place.schema.replace(/\D/g, "")}`;
  await select(`create role ${role}; grant usage on schema ${quoted(schema)} to ${role};
    grant select (key, total, gone) on ${view("shop")} to ${role}`);
  try {
    const after = table("shop", { note: text(), total: float(), secret: text() });
    await using other = await open(place.location, { tables: [after] });
    expect(await postgresViews(other, [after])).toMatchObject({ views: [{ state: "changed" }] });
    const columns = ["key", "total", "secret", "note"].map(
      (name) => `has_column_privilege('${role}', '${view("shop")}', '${name}', 'select') as ${name}`,
    );
    expect(await select(`select ${columns.join(", ")}`)).toEqual([
      { key: true, total: true, secret: false, note: false },
    ]);
  } finally {
    await select(`drop owned by ${role}; drop role ${role}`);
  }
});

test("servers that work in parallel make the index and read the view", async () => {
  const eager = "-c min_parallel_table_scan_size=0 -c force_parallel_mode=on -c parallel_setup_cost=0";
  const location = `${place.location}&options=${encodeURIComponent(eager)}`;
  await using db = await open(location, { tables: [shop] });
  await db.transact((tx) => {
    for (let i = 0; i < 5_000; i++) tx.set(shop.total, `row ${i}`, i);
  });
  await postgresViews(db, [shop]);
  const parallel = new Pool({ host: place.host, user: "postgres", database: "postgres", options: eager });
  try {
    const { rows } = await parallel.query(`select count(*) from ${view("shop")}`);
    expect(rows).toEqual([{ count: "5000" }]);
  } finally {
    await parallel.end();
  }
});

test("bytes that are no key do not make a write fail", async () => {
  await using db = await open(place.location, { tables: [shop] });
  const pairs = table("pairs", { n: int() }, { key: tuple(int(), text(), float()) });
  await postgresViews(db, [shop, pairs]);
  const [{ ids }] = await select(
    `select array_agg(id) ids from ${quoted(place.schema)}.tables where name in ('shop', 'pairs')`,
  );
  for (const id of ids) {
    for (const row of ["", "\\xff", "\\x80ff", "\\x8861", "\\x7f"]) {
      await select(`insert into ${quoted(place.schema)}.cells values (${id}, '${row}', 'x', 1, 1, '\\x00')`);
    }
  }
});

test("names cannot break out of their quotes", async () => {
  await using db = await open(place.location, { tables: [shop] });
  const evil = `x"; drop table cells; --'$f$\\`;
  await postgresViews(db, [shop], { schema, views: { shop: evil }, keys: { shop: [evil] } });
  expect(await select(`select * from ${view(evil)}`)).toEqual([]);
  await expect(postgresViews(db, [shop], { schema: "a$f$" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test.each([
  ["a key with other names than parts", { keys: { shop: ["a", "b"] } }, "1 parts, but `keys` names 2"],
  ["two columns of one name", { keys: { shop: ["total"] } }, 'two columns named "total"'],
  ["two views of one name", { views: { shop: "shop_tags" } }, 'both be named "shop_tags"'],
  ["a long name", { views: { shop: "x".repeat(64) } }, "1 to 63 bytes"],
  [
    "a name for a table that gets no view",
    { views: { shop: "s", "shop.tag": "t" } },
    '`views` has the name "shop.tag", of which no view is made here. It takes shop, shop.tags.',
  ],
  [
    "a key of a table that gets no view",
    { keys: { constructor: ["id"] } },
    '`keys` has the name "constructor"',
  ],
  ["an unknown option", { view: {} } as PostgresViewsOptions, "view"],
])("%s is refused before anything is changed", async (_, options, message) => {
  await using db = await open(place.location, { tables: [shop] });
  await expect(postgresViews(db, [shop], options)).rejects.toThrow(message);
  expect(await select(`select 1 from pg_namespace where nspname = '${schema}'`)).toEqual([]);
});

test("an attached table, the database's own schema and another store are refused", async () => {
  await using db = await open(place.location, { tables: [shop] });
  const orders = attach("public.orders", { key: tuple(int()), columns: { total: float() } });
  await expect(postgresViews(db, [orders])).rejects.toThrow("Table orders is attached");
  await expect(postgresViews(db, [shop], { schema: place.schema })).rejects.toThrow(
    "has the database itself",
  );
  await using memory = await open(memoryStore(), { tables: [shop] });
  await expect(postgresViews(memory, [shop])).rejects.toThrow("need a database on PostgreSQL");
});

test("percolator views makes, prints and drops them", async () => {
  const cli = await CommandLine.create();
  await (await open(place.location, { tables: [shop] })).close();
  const first = await cli.run(["views", place.location, "--print"]);
  expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining("gets a number") });
  const made = await cli.run([
    "views",
    place.location,
    "--key",
    "shop=id",
    "--name",
    "shop.tags=tags",
    "--json",
  ]);
  expect(made).toMatchObject({ code: 0 });
  expect(made.documents).toMatchObject([
    {
      schema,
      views: [
        { name: "shop", family: null, state: "created" },
        { name: "tags", family: "tags" },
      ],
    },
  ]);
  expect(await select(`select id, total from ${view("shop")}`)).toEqual([]);
  const printed = await cli.run(["views", place.location, "--table", "shop", "--print"]);
  expect(printed.stdout).toContain("create or replace view");
  await select(`drop schema ${quoted(schema)} cascade`);
  const again = await cli.run(["views", place.location, "--print"]);
  const statements = again.stdout.replace(/^create index concurrently.*$/gm, "");
  await select(statements);
  expect(await select(`select key, total from ${view("shop")}`)).toEqual([]);
  expect(await cli.run(["views", place.location, "--drop"])).toMatchObject({ code: 0 });
  expect(await cli.run(["views", place.location, "--drop"])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("no views"),
  });
  expect(await cli.run(["views", place.location, "--table", "none"])).toMatchObject({ code: 2 });
  expect(await cli.run(["views", place.location, "--key", "shop"])).toMatchObject({ code: 2 });
});

test("`views` says for which transaction an index waits", async () => {
  await using db = await open(place.location, { tables: [shop] });
  await db.transact((tx) => tx.set(shop.total, "a", 1));
  const old = await pool.connect();
  const [, , { rows }] = (await old.query(
    "set application_name = 'report'; begin isolation level repeatable read; select pg_backend_pid() as pid",
  )) as unknown as [unknown, unknown, { rows: { pid: number }[] }];
  const cli = await CommandLine.create();
  const stderr = new Printed();
  const making = cli.run(["views", place.location, "--table", "shop"], { stderr });
  try {
    const waiting = `waits for the transaction of server process ${rows[0]!.pid} (report) to end`;
    await eventually(() => expect(stderr.text).toContain(waiting));
  } finally {
    await old.query("commit");
    old.release();
  }
  expect((await making).code).toBe(0);
  expect(await select(`select * from ${view("shop")}`)).toEqual([{ key: "a", total: 1 }]);
});

test.each([
  [
    "throws",
    (error: Error) => {
      throw error;
    },
  ],
  ["rejects", (error: Error) => Promise.reject(error)],
])("an `onProgress` that %s ends the call with its error", async (_, fail) => {
  await using db = await open(place.location, { tables: [shop] });
  await db.transact((tx) => tx.set(shop.total, "a", 1));
  // The index waits for this transaction.
  const old = await pool.connect();
  await old.query("begin isolation level repeatable read; select 1");
  const error = new Error("no more");
  try {
    await expect(postgresViews(db, [shop], { onProgress: () => fail(error) })).rejects.toBe(error);
  } finally {
    await old.query("commit");
    old.release();
  }
  await postgresViews(db, [shop]);
  expect(await select(`select * from ${view("shop")}`)).toEqual([{ key: "a", total: 1 }]);
});

test("a table that was dropped and declared with another key gets an index for its new key", async () => {
  const indexed = async () =>
    (
      await select(
        `select indexdef from pg_indexes where schemaname = '${place.schema}' and indexname ~ '^view_[0-9]+$'`,
      )
    ).map(({ indexdef }) => indexdef.match(/view_key\w*(?=\()/g));
  {
    await using db = await open(place.location, { tables: [shop] });
    await db.transact((tx) => tx.set(shop.total, "a", 1));
    await postgresViews(db, [shop]);
    expect(await indexed()).toEqual([["view_key"]]);
  }
  {
    await using db = await open(place.location);
    await db.drop({ table: "shop" });
    await db.release({ table: "shop" });
  }
  const after = table("shop", { total: float(), note: text() }, { key: tuple(int(), text(), bytes()) });
  await using db = await open(place.location, { tables: [after] });
  await db.transact((tx) => tx.set(after.total, [1, "b", Uint8Array.of(1)], 1));
  await postgresViews(db, [after]);
  const functions = ["view_key_int", "view_key_text", "view_key_at", "view_key_bytes", "view_key_at"];
  expect(await indexed()).toEqual([functions]);
  const again = await postgresViews(db, [after]);
  expect(again.sql).not.toContain("index concurrently");
});
