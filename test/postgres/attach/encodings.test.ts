import { int, json, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, postgresStore } from "percolatordb/postgres";
import { Pool } from "pg";
import { expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { newPlace, removePlace, withSuperuser } from "../../support/postgres/index.js";
import { rowsOf } from "./shop.js";

/** A database of the shared server with another encoding than UTF-8, and a store in it. */
async function withEncoding(encoding: string) {
  const place = await newPlace();
  const database = `encoded_${process.pid}_${encoding.toLowerCase()}`;
  await withSuperuser(place.host, (pool) =>
    pool.query(
      `create database ${database} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
    ),
  );
  const pool = new Pool({ host: place.host, user: "postgres", database, max: 4 });
  pool.on("error", () => undefined);
  return {
    pool,
    store: await postgresStore({ pool, schema: place.schema }),
    [Symbol.asyncDispose]: async () => {
      await pool.end();
      await withSuperuser(place.host, (server) => server.query(`drop database ${database} with (force)`));
      await removePlace(place);
    },
  };
}

const people = attach("public.people", { key: tuple(int()), columns: { name: text() } });
const cities = attach("public.cities", { key: tuple(int()), columns: { name: text() } });
const create =
  "create table people (id int primary key, name text); create table cities (id int primary key, name text)";

test.each([
  ["WIN1252", String.raw`E'\x81'`],
  ["SQL_ASCII", String.raw`E'\xff'`],
])(
  "a text of a %s database that is not valid in UTF-8 parks its table, and the others go on",
  async (encoding, bad) => {
    await using server = await withEncoding(encoding);
    const { pool, store } = server;
    await pool.query(create);
    await using db = await openAlone(store, { tables: [people, cities] });
    await attachTables(db, [people, cities]);
    await db.drain();
    const error =
      /Rows of "public"\."people" cannot be read: .*(has no equivalent in|invalid byte sequence for) encoding "UTF8"/;
    // In one SQL transaction with a change of the other table, which arrives without it.
    await pool.query(
      `insert into people values (1, 'a'); insert into cities values (1, 'b'); insert into people values (2, ${bad})`,
    );
    await expect(db.drain()).rejects.toMatchObject({ code: "SCHEMA", message: expect.stringMatching(error) });
    await pool.query("insert into cities values (2, 'c')");
    await db.drain().catch(() => undefined);
    expect(await rowsOf(db, cities)).toEqual([
      [1, { name: "b" }],
      [2, { name: "c" }],
    ]);
    expect(await attachedTables(db)).toMatchObject([
      { source: `"public"."people"`, parked: { error: expect.stringMatching(error) } },
      { parked: undefined },
    ]);
    // The row is still there, so the copy meets it.
    await attachTables(db, [people]);
    await expect(db.drain()).rejects.toThrow(error);
    await pool.query("update people set name = 'd' where id = 2");
    await attachTables(db, [people]);
    await db.drain();
    expect(await rowsOf(db, people)).toEqual([
      [1, { name: "a" }],
      [2, { name: "d" }],
    ]);
  },
);

test("the texts of a LATIN1 database arrive", async () => {
  await using server = await withEncoding("LATIN1");
  const { pool, store } = server;
  await pool.query(create);
  await pool.query("insert into people values (1, 'Zoë')");
  await using db = await openAlone(store, { tables: [people, cities] });
  await attachTables(db, [people, cities]);
  await pool.query("insert into people values (2, 'Ähre')");
  await db.drain();
  expect(await rowsOf(db, people)).toEqual([
    [1, { name: "Zoë" }],
    [2, { name: "Ähre" }],
  ]);
});

test("a row of a LATIN1 database, whose JSON escapes a character that the encoding lacks, may change during a copy", async () => {
  await using server = await withEncoding("LATIN1");
  const { pool, store } = server;
  await pool.query("create table docs (id int primary key, doc json); insert into docs values (1, '1')");
  const docs = attach("public.docs", { key: tuple(int()), columns: { doc: json<string>() } });
  await using db = await openAlone(store, { tables: [docs] });
  await attachTables(db, [docs]);
  await pool.query("update docs set doc = $1 where id = 1", [String.raw`"\u20ac"`]);
  await db.drain();
  expect(await rowsOf(db, docs)).toEqual([[1, { doc: "€" }]]);
});
