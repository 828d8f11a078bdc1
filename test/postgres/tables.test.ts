import { postgresStore } from "percolatordb/postgres";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { newPlace, removePlace, withSuperuser } from "../support/postgres/index.js";
import { FaultyPool } from "./faulty-pool.js";

/** A store, and how many queries it has sent. */
async function openStore() {
  const place = await newPlace();
  const pool = new FaultyPool(place.host);
  const store = await postgresStore({ pool, schema: place.schema });
  onTestFinished(async () => {
    await store.close();
    await pool.end();
    await removePlace(place);
  });
  let queries = 0;
  pool.interfere = (_, send) => {
    queries++;
    return send();
  };
  return { store, place, queries: () => queries };
}

const columns = [{ exact: Buffer.from("c") }];
const read = (table: string, row: number) => ({ table, row: Buffer.from([row]), columns, at: 1_000 });
const rows = Array.from({ length: 50 }, (_, index) => index);

test("reads of tables that were never written share one query, and see them once they are written", async () => {
  const { store, place, queries } = await openStore();
  const readAll = () =>
    Promise.all(rows.flatMap((row) => ["a", "b"].map((table) => store.readRow(read(table, row)))));
  expect((await readAll()).every(({ cells }) => cells.length === 0)).toBe(true);
  expect(queries()).toBe(1);

  const other = await postgresStore({
    connection: { host: place.host, user: "postgres" },
    schema: place.schema,
  });
  await other.mutate({
    table: "b",
    row: Buffer.from([7]),
    guards: [],
    mutations: [
      { type: "put", column: Buffer.from("c"), part: "write", timestamp: 9, value: Buffer.from("v") },
    ],
  });
  await other.close();
  const found = (await readAll()).filter(({ cells }) => cells.length > 0);
  expect(found.map(({ row, cells }) => [row[0], cells[0]!.write!.timestamp])).toEqual([[7, 9]]);
  // One for both numbers, and one for the 50 rows of the table that is there.
  expect(queries()).toBe(3);
  await readAll();
  expect(queries()).toBe(5);
});

test("a closed store leaves no listeners on a pool that belongs to the program", async () => {
  const { place } = await openStore();
  const pool = new Pool({ host: place.host, user: "postgres", database: "postgres", max: 4 });
  onTestFinished(() => pool.end());
  const listeners = () => [pool.listenerCount("error"), pool.listenerCount("connect")];
  const before = listeners();
  for (let round = 0; round < 3; round++) {
    const store = await postgresStore({ pool, schema: place.schema });
    expect(listeners()).not.toEqual(before);
    await store.readRow(read("a", 1));
    await store.close();
  }
  expect(listeners()).toEqual(before);
});

test("the tables with many changes are vacuumed early, and rows that are updated have room beside them", async () => {
  const { place } = await openStore();
  const found = await withSuperuser(place.host, (pool) =>
    pool.query(
      "select relname as name, reloptions as options from pg_class where relnamespace = to_regnamespace($1) and reloptions is not null",
      [`"${place.schema.replaceAll('"', '""')}"`],
    ),
  );
  expect(Object.fromEntries(found.rows.map(({ name, options }) => [name, options]))).toEqual({
    cells: [
      "autovacuum_vacuum_scale_factor=0.02",
      "autovacuum_vacuum_insert_scale_factor=0.05",
      "autovacuum_analyze_scale_factor=0.05",
    ],
    writers: ["fillfactor=20"],
    state: ["fillfactor=10"],
    durable: ["fillfactor=10"],
  });
});
