import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Mutation, RowStore } from "../../index.js";
import { openLmdbStore } from "../store.js";

/** Tests when the store lends and when it does not. `storeConformance` tests the lent data. */

let folder: string;
let store: RowStore;
const table = "t";
const column = Buffer.from("c");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "percolatordb-lending-"));
  store = await openLmdbStore(folder, { durability: "none" });
});

afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function put(row: string, part: Mutation["part"], timestamp: number, value: Uint8Array): Promise<void> {
  const mutations: Mutation[] = [{ type: "put", column, part, timestamp, value }];
  await store.mutate({ table, row: Buffer.from(row), guards: [], mutations });
}

/** Returns the record that the store lends of a cell, and whether that record is the latest. */
function lent(row: string, at: number): unknown {
  const found = store.zeroCopy!.cell(table, Buffer.from(row), row.length, column, at);
  if (found === undefined || found === "absent") return found;
  return [found.buffer.toString("latin1", found.start, found.end), found.latest];
}

/** Returns the lent rows, and how the page ended. */
function lentRows(start: string, end: string, at: number, limit = 100) {
  const rows: string[] = [];
  const read = { table, start: { row: Buffer.from(start) }, end: { row: Buffer.from(end) }, column, at };
  const page = store.zeroCopy!.column({ ...read, reverse: false, limit }, (row, from, to) => {
    rows.push(row.toString("latin1", from, to));
    return true;
  });
  return { rows, stopped: page?.stopped, next: page?.next && Buffer.from(page.next.row).toString("latin1") };
}

describe("the embedded store lends", () => {
  it("the newest write record of a cell, or an older one next to it", async () => {
    await put("short", "write", 3, Buffer.from("three"));
    await put("short", "write", 6, Buffer.from("six"));
    expect(lent("short", 9)).toEqual(["six", true]);
    expect(lent("short", 5)).toEqual(["three", false]);
    expect(lent("short", 2)).toBe("absent");
    expect(lent("none", 9)).toBe("absent");
  });

  it("no record that is stored elsewhere, is not in LMDB's buffer, or is beneath a lock", async () => {
    await put("far", "write", 3, Buffer.alloc(20_000, "f"));
    await put("old", "write", 3, Buffer.alloc(2_000, "o"));
    await put("old", "write", 6, Buffer.alloc(2_000, "n"));
    await put("locked", "write", 3, Buffer.from("x"));
    await put("locked", "lock", 4, Buffer.from("l"));
    expect(lent("far", 9)).toBeUndefined();
    expect(lent("old", 9)).toEqual(["n".repeat(2_000), true]);
    expect(lent("old", 5)).toBeUndefined();
    expect(lent("locked", 3)).toBeUndefined();
    expect(lent("locked", 9)).toBeUndefined();
  });

  it("nothing for an invalid timestamp, limit, table or key", () => {
    expect(lent("short", Number.NaN)).toBeUndefined();
    expect(lent("short", -1)).toBeUndefined();
    expect(lent("x".repeat(1_900), 9)).toBeUndefined();
    expect(store.zeroCopy!.cell("", Buffer.from("r"), 1, column, 9)).toBeUndefined();
    expect(lentRows("", "z", 9, 0).stopped).toBeUndefined();
  });

  it("a column up to a cell that cannot be lent, and the cells after it", async () => {
    for (const row of ["w1", "w2", "w3", "w4", "w5"]) await put(row, "write", 3, Buffer.from(row));
    await put("w3", "lock", 4, Buffer.from("l"));
    expect(lentRows("w", "x", 9)).toEqual({ rows: ["w1", "w2"], stopped: true, next: "w3" });
    expect(lentRows("w4", "x", 9)).toEqual({ rows: ["w4", "w5"], stopped: false, next: undefined });
    expect(lentRows("w", "x", 9, 1)).toEqual({ rows: ["w1"], stopped: false, next: "w2" });
    expect(lentRows("w", "x", 2)).toEqual({ rows: [], stopped: true, next: "w3" });
  });
});
