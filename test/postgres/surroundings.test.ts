import { open, table, text } from "percolatordb";
import { postgresStore } from "percolatordb/postgres";
import { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  newPlace,
  type PostgresPlace,
  placeAt,
  removePlace,
  withSuperuser,
} from "../support/postgres/index.js";

/** What a server's administrator, a role or another program may have set or changed. */

const documents = table("documents", { contents: text(), size: text() });

let place: PostgresPlace;
let role: string;

beforeEach(async () => {
  place = await newPlace();
  role = `surrounded_${process.pid}_${place.schema.replace(/\D/g, "")}`;
  await sql(`create role ${role} login superuser`);
});

afterEach(async () => {
  await removePlace(place);
  await sql(`drop role ${role}`);
});

const sql = (query: string) => withSuperuser(place.host, (pool) => pool.query(query));
const quote = (schema: string) => `"${schema.replaceAll('"', '""')}"`;

test.each([
  ["bytea_output", "escape"],
  ["standard_conforming_strings", "off"],
  ["backslash_quote", "off"],
])("a role with %s = %s works in a schema with quotes and backslashes", async (setting, value) => {
  await sql(`alter role ${role} set ${setting} = ${value}`);
  const schema = `it's a "\\x" schema ${process.pid}`;
  const { location } = placeAt(place.host, schema, role);
  try {
    await using db = await open(location, { tables: [documents] });
    const rows = ["", "a\\b", "\\x41", "umläut", "nul \0"].map((row, i) => ({
      row: `${row}${i}`,
      value: row,
    }));
    await db.transact((tx) => {
      for (const { row, value: contents } of rows) tx.set(documents.contents, row, contents);
    });
    for (const { row, value: contents } of rows)
      expect(await db.transact((tx) => tx.get(documents.contents, row))).toBe(contents);
    await using view = await db.snapshot();
    const found: string[] = [];
    for await (const { row } of view.scan(documents)) found.push(row);
    expect(found.toSorted()).toEqual(rows.map(({ row }) => row).toSorted());
    expect(await db.check()).toEqual([]);
    await db.collect();
    expect((await db.status()).statistics).toMatchObject({ tables: expect.any(Number) });
  } finally {
    await sql(`drop schema ${quote(schema)} cascade`);
  }
});

test("a publication for all tables does not stop deletions", async () => {
  // A database of its own: the tables of other tests have no replica identity.
  const name = `published_${process.pid}`;
  await sql(`create database ${name}`);
  const pool = new Pool({ host: place.host, user: role, database: name, max: 4 });
  try {
    await using db = await open(await postgresStore({ pool }), { tables: [documents] });
    await pool.query("create publication all_tables for all tables");
    await db.transact((tx) => tx.set(documents.contents, "a", "1"));
    await db.transact((tx) => tx.delete(documents.contents, "a"));
    await db.collect({ retentionMs: 0 });
    expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBeUndefined();
  } finally {
    await pool.end();
    await sql(`drop database ${name} with (force)`);
  }
});

test("a program that discards the prepared statements of its pool's connections loses none of ours", async () => {
  const pool = new Pool({ host: place.host, user: role, database: "postgres", max: 3 });
  try {
    const store = await postgresStore({ pool, schema: place.schema });
    await using db = await open(store, { tables: [documents] });
    for (const [i, statement] of ["discard all", "deallocate all", "discard all"].entries()) {
      await db.transact((tx) => tx.set(documents.contents, "a", `${i}`));
      await Promise.all([1, 2, 3].map(() => pool.query(statement)));
      expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe(`${i}`);
    }
  } finally {
    await pool.end();
  }
});

describe("a renamed schema", () => {
  const renamed = `renamed ${process.pid}`;
  const rename = () => sql(`alter schema ${quote(place.schema)} rename to ${quote(renamed)}`);
  const at = () => placeAt(place.host, renamed).location;
  afterEach(() => sql(`drop schema if exists ${quote(renamed)} cascade`));

  test("is a database again when its owner opens it", async () => {
    {
      await using db = await open(place.location, { tables: [documents] });
      await db.transact((tx) => tx.set(documents.contents, "a", "kept"));
    }
    await rename();
    await expect(open(at(), { create: false })).rejects.toThrow(/was renamed.*percolator init/);
    await using db = await open(at(), { tables: [documents] });
    await using other = await open(place.location, { tables: [documents] });
    await db.transact((tx) => tx.set(documents.size, "a", "1"));
    expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe("kept");
    expect(await other.transact((tx) => tx.get(documents.size, "a"))).toBeUndefined();
    await (await open(at(), { create: false })).close();
  });

  test("is told to a role that does not own it", async () => {
    await (await open(place.location, { tables: [documents] })).close();
    const lowly = `${role}_lowly`;
    await sql(`create role ${lowly} login; grant usage on schema ${quote(place.schema)} to ${lowly};
      grant all on all tables in schema ${quote(place.schema)} to ${lowly}`);
    try {
      await rename();
      const { location } = placeAt(place.host, renamed, lowly);
      await expect(open(location)).rejects.toThrow(/was renamed.*percolator init/);
    } finally {
      await sql(`drop owned by ${lowly}; drop role ${lowly}`);
    }
  });

  test("with attached tables must be renamed back", async () => {
    await (await open(place.location)).close();
    await sql(`create table ${quote(place.schema)}.outbox (seq int8)`);
    await rename();
    await expect(open(at())).rejects.toThrow(/was renamed.*rename it back/);
    await sql(`alter schema ${quote(renamed)} rename to ${quote(place.schema)}`);
    await (await open(place.location)).close();
  });
});
