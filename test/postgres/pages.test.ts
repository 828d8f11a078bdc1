import { postgresStore } from "percolatordb/postgres";
import { type Position, pages, type RowStore } from "percolatordb/store";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";

const rowCount = 4_000;
const versionCount = 3;
const column = Buffer.from("c");
const name = (index: number) => Buffer.from(`row ${String(index).padStart(5, "0")}`);
const columns = { all: [{ start: Buffer.alloc(0), end: undefined }], one: [{ exact: column }] };

let place: PostgresPlace;
let store: RowStore;

beforeAll(async () => {
  place = await newPlace();
  store = await postgresStore({
    connection: { host: place.host, user: "postgres", database: "postgres" },
    schema: place.schema,
    durability: "none",
  });
  const all = Array.from({ length: rowCount }, (_, index) => name(index));
  for (let timestamp = 1; timestamp <= versionCount; timestamp++) {
    const put = { type: "put", column, part: "write", timestamp, value: Buffer.alloc(50, 65) } as const;
    const other = { ...put, column: Buffer.from("d") };
    await Promise.all(
      all.map((row) => store.mutate({ table: "t", row, guards: [], mutations: [put, other] })),
    );
  }
});

afterAll(async () => {
  await store.close();
  await removePlace(place);
});

/** Reads with a store on one connection in one transaction, and counts the index entries that it read. */
async function entriesRead(read: (store: RowStore) => Promise<unknown>): Promise<number> {
  const client = new Client({ host: place.host, user: "postgres", database: "postgres" });
  await client.connect();
  const lent = Object.assign(client, { release: () => undefined });
  const nothing = () => undefined;
  const pool = {
    connect: async () => lent,
    end: async () => undefined,
    on: nothing,
    removeListener: nothing,
  };
  const counted = await postgresStore({ pool: pool as never, schema: place.schema });
  await counted.readRow({ table: "t", row: name(0), columns: columns.one, at: 9 });
  const key = `"${place.schema.replaceAll('"', '""')}".cells_key`;
  const count = async () =>
    Number((await client.query("select pg_stat_get_xact_tuples_returned($1::regclass) n", [key])).rows[0].n);
  await client.query("begin");
  const before = await count();
  await read(counted);
  const after = await count();
  await client.query("rollback");
  await counted.close();
  await client.end();
  return after - before;
}

describe("a page reads no more of a large table than it shows", () => {
  const limit = 20;
  /** The versions of one column, for twice as many rows as the page shows. */
  const few = 2 * limit * versionCount;
  /** The page does not know how many columns a row has, and asks for eight of each. */
  const more = 10 * limit * versionCount;

  test.each([
    ["ascending, all columns", more, { columns: columns.all }],
    ["ascending, one column", few, { columns: columns.one }],
    ["ascending from the middle", few, { columns: columns.one, start: { row: name(2_000) } }],
    [
      "ascending in a bounded range",
      more,
      { columns: columns.all, start: { row: name(10) }, end: { row: name(30) } },
    ],
    ["descending, all columns", more, { columns: columns.all, reverse: true }],
    ["descending, one column", 2 * few, { columns: columns.one, reverse: true, end: { row: name(3_000) } }],
  ])("%s", async (_, most, read) => {
    const entries = await entriesRead(async (counted) => {
      const page = await counted.readRange({ table: "t", at: 9, limit, ...read });
      expect(page.rows).toHaveLength(limit);
    });
    expect(entries).toBeGreaterThan(0);
    expect(entries).toBeLessThanOrEqual(most);
  });

  test("raw", async () => {
    const read = { table: "t", columns: columns.one, parts: ["write"], start: { row: name(100) } } as const;
    const entries = await entriesRead(async (counted) => counted.readRaw(read));
    expect(entries).toBeLessThanOrEqual(2 * 1_100);
  });
});

test("pages show each row once, in both directions, whatever their limit", async () => {
  for (const reverse of [false, true]) {
    for (const limit of [undefined, 333]) {
      const rows: string[] = [];
      const read = (next: Position | undefined) => {
        const bounds = reverse ? { end: next } : { start: next };
        return store.readRange({ table: "t", columns: columns.one, at: 2, reverse, limit, ...bounds });
      };
      for await (const page of pages(read)) {
        for (const { row, cells } of page.rows) {
          rows.push(Buffer.from(row).toString());
          expect([cells.length, cells[0]!.write?.timestamp, cells[0]!.latest]).toEqual([1, 2, false]);
        }
      }
      const expected = Array.from({ length: rowCount }, (_, index) => name(index).toString());
      expect(rows).toEqual(reverse ? expected.reverse() : expected);
    }
  }
});

test("a value of 10 MB is stored and read, alone and beside others", async () => {
  const value = Buffer.alloc(10_000_000, 7);
  const row = Buffer.from("large");
  const put = (name: string, bytes: Buffer) =>
    ({ type: "put", column: Buffer.from(name), part: "write", timestamp: 1, value: bytes }) as const;
  const mutations = [
    put("a", Buffer.from("x")),
    put("b", value),
    put("c", value),
    put("d", Buffer.from("y")),
  ];
  expect(await store.mutate({ table: "large", row, guards: [], mutations })).toBe("applied");
  const only = await store.readRow({ table: "large", row, columns: [{ exact: Buffer.from("b") }], at: 1 });
  expect(value.equals(only.cells[0]!.write!.value)).toBe(true);
  const sizes: number[] = [];
  const read = (start: Position | undefined) =>
    store.readRange({ table: "large", columns: columns.all, at: 1, start });
  for await (const page of pages(read)) {
    for (const { cells } of page.rows) sizes.push(...cells.map(({ write }) => write!.value.length));
  }
  expect(sizes).toEqual([1, value.length, value.length, 1]);
});

test("reads of one turn with more bytes than one answer has are all answered", async () => {
  const value = (index: number) => Buffer.alloc(5_000_000, index);
  const rows = Array.from({ length: 9 }, (_, index) => name(index));
  const put = (index: number, column: string) =>
    ({ type: "put", column: Buffer.from(column), part: "write", timestamp: 1, value: value(index) }) as const;
  for (const [index, row] of rows.entries()) {
    // The fourth row alone has more.
    const columns = index === 3 ? ["a", "b", "c", "d", "e"] : ["a"];
    const mutations = columns.map((each) => put(index, each));
    expect(await store.mutate({ table: "many", row, guards: [], mutations })).toBe("applied");
  }
  const columns = ["a", "b", "c", "d", "e"].map((each) => ({ exact: Buffer.from(each) }));
  const read = await Promise.all(rows.map((row) => store.readRow({ table: "many", row, columns, at: 1 })));
  expect(read.map(({ cells }) => cells.length)).toEqual(rows.map((_, index) => (index === 3 ? 5 : 1)));
  for (const [index, { cells }] of read.entries()) {
    for (const { write } of cells) expect(value(index).equals(write!.value)).toBe(true);
  }
});
