import { readFile } from "node:fs/promises";
import { int, observer, table, text } from "percolatordb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openAlone } from "../support/databases.js";
import {
  newPlace,
  type PostgresPlace,
  placeAt,
  removePlace,
  withSuperuser,
} from "../support/postgres/index.js";

const documents = table("documents", { contents: text(), length: int() });
const measure = observer("measure", documents.contents, (tx, { row, value }) =>
  tx.set(documents.length, row, value?.length ?? 0),
);

let place: PostgresPlace;
let role: string;

beforeEach(async () => {
  place = await newPlace();
  role = `least_${process.pid}_${place.schema.replace(/\D/g, "")}`;
  await sql(`create role ${role} login`);
});

afterEach(async () => {
  await removePlace(place);
  await sql(`drop owned by ${role}; drop role ${role}`);
});

const sql = (query: string) => withSuperuser(place.host, (pool) => pool.query(query));

/** The statements of the page, for this test's schema and role. */
async function granted(heading: string): Promise<string> {
  const page = await readFile(new URL("../../docs/postgres.md", import.meta.url), "utf8");
  const after = page.slice(page.indexOf(heading));
  expect(after.length, `"${heading}" is in the page`).toBeGreaterThan(10);
  const block = /```sql\n([\s\S]*?)```/.exec(after)![1]!;
  const schema = `"${place.schema.replaceAll('"', '""')}"`;
  return block.replaceAll("search", schema).replaceAll("reader", role).replaceAll("app", role);
}

test("the privileges that the page lists are enough for transactions, observers and collection", async () => {
  await (await openAlone(place.location)).close();
  await expect(openAlone(placeAt(place.host, place.schema, role).location)).rejects.toMatchObject({
    code: "STORE",
    message: expect.stringContaining("docs/postgres.md lists the privileges"),
  });
  await sql(await granted("### The role of the program"));
  const location = placeAt(place.host, place.schema, role).location;
  await using db = await openAlone(location, { tables: [documents], observers: [measure], create: false });
  await db.transact((tx) => tx.set(documents.contents, "a", "four"));
  await db.drain();
  await db.transact((tx) => tx.delete(documents.contents, "a"));
  await db.drain();
  await db.collect();
  expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(0);
  expect(await db.check()).toEqual([]);
  await expect(
    withSuperuser(place.host, (pool) =>
      pool.query(`set role ${role}; create table "${place.schema.replaceAll('"', '""')}".mine ()`),
    ),
  ).rejects.toThrow("permission denied");
});

test("with the search path of the page, functions of another role are not called", async () => {
  await (await openAlone(place.location)).close();
  const shared = `shared_${role}`;
  await sql(`create schema ${shared}; grant create, usage on schema ${shared} to ${role}; set role ${role};
    create table ${shared}.calls (who text);
    create function ${shared}.unnest(int4[]) returns setof int4 language plpgsql as $$ begin
      insert into ${shared}.calls values (current_user); return query select pg_catalog.unnest($1); end $$`);
  const calls = async (path: string) => {
    const location = `${place.location}&options=${encodeURIComponent(`-c search_path=${path}`)}`;
    await using db = await openAlone(location, { tables: [documents], observers: [measure] });
    await db.transact((tx) => tx.set(documents.contents, path, "four"));
    await db.drain();
    await db.collect();
    const found = await sql(`select count(*)::int as calls from ${shared}.calls`);
    return found.rows[0]!.calls;
  };
  try {
    expect(await calls("pg_catalog")).toBe(0);
    expect(await calls(`${shared},public`)).toBeGreaterThan(0);
  } finally {
    await sql(`drop schema ${shared} cascade`);
  }
});

test("the privileges are enough for a worker that is woken by other processes, and for what status reads", async () => {
  await (await openAlone(place.location)).close();
  await sql(await granted("### The role of the program"));
  const location = placeAt(place.host, place.schema, role).location;
  const options = { tables: [documents], observers: [measure], create: false };
  await using db = await openAlone(location, options);
  await using writer = await openAlone(location, options);
  await using worker = db.work();
  for (const row of ["a", "b", "c"]) {
    await writer.transact((tx) => tx.set(documents.contents, row, "four"));
    await vi.waitFor(
      async () => expect(await writer.transact((tx) => tx.get(documents.length, row))).toBe(4),
      { timeout: 60_000, interval: 5 },
    );
  }
  await worker.idle();
  expect((await db.status()).sessions.size).toBe(1);
  for (const each of [db, writer]) {
    expect((await each.status()).statistics).toMatchObject({ failures: 0 });
  }
});

test("a role that may only read opens the database with `readOnly`, and writes nothing", async () => {
  await using db = await openAlone(place.location, { tables: [documents] });
  await db.transact((tx) => tx.set(documents.contents, "a", "four"));
  await sql(await granted("### A role that only reads"));
  const location = placeAt(place.host, place.schema, role).location;
  await using reader = await openAlone(location, { tables: [documents], readOnly: true });
  await using snapshot = await reader.snapshot();
  expect(await snapshot.get(documents.contents, "a")).toBe("four");
  await expect(reader.transact((tx) => tx.set(documents.contents, "a", "x"))).rejects.toMatchObject({
    message: expect.stringContaining("readOnly"),
  });
});
