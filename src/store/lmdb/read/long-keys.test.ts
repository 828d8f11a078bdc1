import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Columns, RowStore } from "../../index.js";
import { openLmdbStore } from "../store.js";

/** Rows and columns that are legal, but not together. So no scan may seek a cell of both. */

let folder: string;
let store: RowStore;
const table = "t";
const longRow = Buffer.alloc(1_500, "a");
/** Takes no more bytes than {@link longRow}, but more in a key. */
const nulRow = Buffer.concat([Buffer.alloc(750), Buffer.from("a")]);
const wanted = Buffer.alloc(400, "x");
const lastRow = Buffer.from("z");
const firstRow = Buffer.alloc(1);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "percolatordb-long-keys-"));
  store = await openLmdbStore(folder, { durability: "none" });
  for (const row of [longRow, nulRow]) for (const name of "bcdefghiy") await put(row, Buffer.from(name));
  for (const row of [firstRow, lastRow]) await put(row, wanted);
});

afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function put(row: Buffer, column: Buffer): Promise<void> {
  const mutations = [{ type: "put", column, part: "write", timestamp: 1, value: Buffer.from("v") }] as const;
  await store.mutate({ table, row, guards: [], mutations });
}

describe.each([false, true])(
  "a scan that is reverse: %s passes over rows that are too long for",
  (reverse) => {
    const rows = reverse ? [lastRow, firstRow] : [firstRow, lastRow];
    const range: Columns[number] = {
      start: Buffer.from("A"),
      end: Buffer.concat([Buffer.from("a"), wanted]),
    };

    it.each([
      ["its column", [{ exact: wanted }]],
      ["a bound of its columns", [range, { exact: wanted }]],
    ] satisfies [string, Columns][])("%s", async (_, columns) => {
      const page = await store.readRange({ table, columns, at: 1, reverse });
      expect(page.rows.map(({ row }) => Buffer.from(row))).toEqual(rows);
    });

    it("its column, and lends the cells", () => {
      const found: Buffer[] = [];
      const read = { table, start: undefined, end: undefined, column: wanted, at: 1, reverse, limit: 100 };
      const page = store.zeroCopy!.column(read, (row, from, to) => {
        found.push(Buffer.from(row.subarray(from, to)));
        return true;
      });
      expect([page, found]).toEqual([{ next: undefined, stopped: false, cells: 2 }, rows]);
    });
  },
);
