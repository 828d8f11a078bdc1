import { memoryStore } from "percolatordb/memory";
import { postgresStore } from "percolatordb/postgres";
import { type Columns, type Position, pages, type RowStore } from "percolatordb/store";
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

/** Reads with a store on one connection in one transaction, and counts the index entries that it looked at. */
async function entriesRead(place: PostgresPlace, read: (store: RowStore) => unknown): Promise<number> {
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
  const store = await postgresStore({ pool: pool as never, schema: place.schema });
  await store.readRow({ table: "t", row: name(0), columns: columns.one, at: 9 });
  const key = `"${place.schema.replaceAll('"', '""')}".cells_key`;
  const count = async () =>
    Number((await client.query("select pg_stat_get_xact_tuples_returned($1::regclass) n", [key])).rows[0].n);
  await client.query("begin");
  const before = await count();
  await read(store);
  const after = await count();
  await client.query("rollback");
  await store.close();
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
    const entries = await entriesRead(place, async (store) => {
      const page = await store.readRange({ table: "t", at: 9, limit, ...read });
      expect(page.rows).toHaveLength(limit);
    });
    expect(entries).toBeGreaterThan(0);
    // It also looks for the end of a piece.
    expect(entries).toBeLessThanOrEqual(most + 800);
  });

  test("raw", async () => {
    const read = { table: "t", columns: columns.one, parts: ["write"], start: { row: name(100) } } as const;
    const entries = await entriesRead(place, (store) => store.readRaw(read));
    expect(entries).toBeGreaterThan(0);
    expect(entries).toBeLessThanOrEqual(2 * 1_100 + 16_000);
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

describe("pages that walk over more than they show", () => {
  const all = [{ start: Buffer.alloc(0), end: undefined }];
  const rare = [{ exact: Buffer.from("rare") }];
  const [rows, versions] = [450, 100];
  const memory = memoryStore();
  let wide: PostgresPlace;
  let served: RowStore;

  beforeAll(async () => {
    wide = await newPlace();
    served = await postgresStore({
      connection: { host: wide.host, user: "postgres", database: "postgres" },
      schema: wide.schema,
      durability: "none",
    });
    const put = (column: string, part: "lock" | "write", timestamp: number) =>
      ({
        type: "put",
        column: Buffer.from(column),
        part,
        timestamp,
        value: Buffer.alloc(20, timestamp),
      }) as const;
    for (let row = 0; row < rows; row++) {
      // One cell has more versions than a page walks over.
      const count = row === 200 ? 25_000 : versions;
      const mutations = Array.from({ length: count }, (_, index) => put("c", "write", index + 1));
      if (row % 149 === 0) mutations.push(put("rare", "write", 50));
      const locks = row === 7 || row === 290 ? [put("c", "lock", 60)] : [];
      const all = [...mutations, ...locks];
      for (let at = 0; at < all.length; at += 1_000) {
        const few = all.slice(at, at + 1_000);
        for (const store of [memory, served]) {
          await store.mutate({ table: "t", row: name(row), guards: [], mutations: few });
        }
      }
    }
  });

  afterAll(async () => {
    await served.close();
    await removePlace(wide);
  });

  /** What all pages of a read show, and how many pages there were. */
  async function shown(
    store: RowStore,
    read: { columns: Columns; at: number; limit?: number | undefined; reverse?: boolean },
  ) {
    const found: unknown[] = [];
    let count = 0;
    const next = (position: Position | undefined) =>
      store.readRange({ table: "t", ...read, ...(read.reverse ? { end: position } : { start: position }) });
    for await (const page of pages(next)) {
      count++;
      for (const { row, cells } of page.rows) {
        for (const { column, lock, write, latest } of cells) {
          const versions = [
            lock?.timestamp,
            write?.timestamp,
            write && Buffer.from(write.value).toString("hex"),
          ];
          found.push([Buffer.from(row).toString(), Buffer.from(column).toString(), ...versions, latest]);
        }
      }
    }
    return { found, count };
  }

  test.each([false, true])("show what a store in memory shows, reverse: %s", async (reverse) => {
    for (const columns of [all, rare, [...rare, { exact: Buffer.from("none") }]]) {
      for (const at of [1, 55, 30_000]) {
        for (const limit of [undefined, 33]) {
          const read = { columns, at, limit, reverse };
          expect((await shown(served, read)).found).toEqual((await shown(memory, read)).found);
        }
      }
    }
    expect((await shown(served, { columns: all, at: 55, reverse })).found).toHaveLength(rows + 4);
    expect((await shown(served, { columns: rare, at: 55, reverse })).found).toHaveLength(4);
  });

  test.each([
    { parts: ["lock"] },
    { parts: ["write"], versions: 1 },
    { parts: ["lock", "write"], from: 40, to: 61 },
    { parts: ["write"], columns: rare },
  ] as const)("show the versions that a store in memory shows: %o", async (wanted) => {
    const versionsOf = async (store: RowStore) => {
      const found: unknown[] = [];
      for await (const page of pages((start: Position | undefined) =>
        store.readRaw({ table: "t", columns: all, start, ...wanted }),
      )) {
        for (const { row, cells } of page.rows) {
          for (const { column, versions } of cells) {
            for (const { part, timestamp } of versions)
              found.push([String(row), String(column), part, timestamp]);
          }
        }
      }
      return found;
    };
    const found = await versionsOf(served);
    expect(found.length).toBeGreaterThan(0);
    expect(found).toEqual(await versionsOf(memory));
  });

  test.each([
    [
      "locks",
      (store: RowStore) =>
        store.readRaw({ table: "t", columns: all, parts: ["lock"], start: { row: name(8) } }),
    ],
    [
      "a rare column",
      (store: RowStore) => store.readRange({ table: "t", columns: rare, at: 55, start: { row: name(1) } }),
    ],
    [
      "a rare column, descending",
      (store: RowStore) =>
        store.readRange({ table: "t", columns: rare, at: 55, end: { row: name(447) }, reverse: true }),
    ],
  ])("end after a bounded walk: %s", async (_, read) => {
    const { next } = await read(served);
    expect(next).toBeDefined();
    const entries = await entriesRead(wide, read);
    expect(entries).toBeGreaterThan(20_000);
    // It looks for split points, and may end with the cell that has 25,000. The table has 70,000.
    expect(entries).toBeLessThanOrEqual(16_000 + 20_000 + 25_000);
  });

  test("a read of one cell walks over its versions once", async () => {
    const [row, column] = [name(200), Buffer.from("c")];
    const end = { row, column: Buffer.from("c\0") };
    const entries = await entriesRead(wide, async (store) => {
      const read = { table: "t", columns: [{ exact: column }], parts: ["write"], versions: 1 } as const;
      const page = await store.readRaw({ ...read, start: { row, column }, end });
      expect(page.rows[0]!.cells[0]!.versions.map(({ timestamp }) => timestamp)).toEqual([25_000]);
      expect(page.next).toBeUndefined();
    });
    expect(entries).toBeGreaterThan(0);
    expect(entries).toBeLessThanOrEqual(25_100);
  });

  test("a descending page over rows with many versions reads little more than it shows", async () => {
    for (const reverse of [false, true]) {
      let found = 0;
      const entries = await entriesRead(wide, async (store) => {
        const page = await store.readRange({
          table: "t",
          columns: all,
          at: 1_000,
          limit: 250,
          end: { row: name(150) },
          reverse,
        });
        found = page.rows.length;
      });
      expect(found).toBeGreaterThan(0);
      expect(entries / found).toBeLessThanOrEqual(4 * versions);
    }
  });
});
