import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Environment, systemEnvironment } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import { type AtomicBatch, commitTimestamp, type RowPage, type RowStore } from "../index.js";
import { openLmdbStore } from "./store.js";

let base: string;
let number = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "percolatordb-store-"));
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true });
});

const newPath = () => join(base, `store-${++number}`);
const column = Buffer.from("c");
const columns = [{ exact: column }];

const batch = (row: string, value: Uint8Array): AtomicBatch => ({
  rows: [
    {
      table: "t",
      row: Buffer.from(row),
      guards: [],
      mutations: [{ type: "put", column, part: "write", timestamp: commitTimestamp, value }],
    },
  ],
});

async function commit(store: RowStore, row: string, value: Uint8Array): Promise<number> {
  const answer = await store.atomic!.commit(batch(row, value));
  if (answer.answer !== "applied") throw new Error(`the batch was ${answer.answer}`);
  return answer.timestamp;
}

const get = (store: RowStore, row: string) =>
  store.readRow({ table: "t", row: Buffer.from(row), columns, at: Number.POSITIVE_INFINITY }) as RowPage;

const written = (page: RowPage) => Buffer.from(page.cells[0]!.write!.value);

describe("the embedded store", () => {
  it("reads synchronously", async () => {
    const store = await openLmdbStore(newPath());
    await commit(store, "r", column);
    expect(get(store, "r").cells).toHaveLength(1);
    expect(store.readRange({ table: "t", columns, at: 0 })).toEqual({ rows: [], next: undefined });
    expect(typeof store.atomic!.counter()).toBe("number");
    await store.close();
  });

  it("shares a folder within one process, even under different paths", async () => {
    const path = newPath();
    const [first, second] = await Promise.all([openLmdbStore(path), openLmdbStore(path)]);
    await symlink(path, `${path}-link`);
    const third = await openLmdbStore(`${path}-link`, { readOnly: true });
    const timestamps = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        commit(i % 2 === 0 ? first! : second!, `r${i}`, Buffer.from(`${i}`)),
      ),
    );
    expect(new Set(timestamps).size).toBe(40);
    for (const store of [first!, second!, third]) {
      for (let i = 0; i < 40; i++) expect(written(get(store, `r${i}`)).toString()).toBe(`${i}`);
    }
    const late = commit(first!, "late", column);
    await first!.close();
    await late;
    expect(() => get(first!, "r1")).toThrow(ClosedError);
    expect(get(second!, "late").cells).toHaveLength(1);
    await expect(commit(third, "x", column)).rejects.toThrow(/readOnly/);
    await second!.close();
    expect(get(third, "r2").cells).toHaveLength(1);
    await third.close();
    const again = await openLmdbStore(path);
    expect(get(again, "r3").cells).toHaveLength(1);
    await again.close();
  });

  it("ends a row's page after many cells with nothing visible, and continues at the next", async () => {
    const store = await openLmdbStore(newPath(), { durability: "none" });
    const row = Buffer.from("r");
    const names = Array.from({ length: 10_500 }, (_, i) => Buffer.from(`c${String(i).padStart(5, "0")}`));
    for (let from = 0; from < names.length; from += 500) {
      const mutations = names
        .slice(from, from + 500)
        .map((each) => ({ type: "put", column: each, part: "write", timestamp: 50, value: column }) as const);
      expect(await store.mutate({ table: "t", row, guards: [], mutations })).toBe("applied");
    }
    const all = { start: Buffer.alloc(0), end: undefined };
    const first = store.readRow({ table: "t", row, columns: [all], at: 10 }) as RowPage;
    expect(first.cells).toEqual([]);
    expect(Buffer.from(first.next!).toString()).toMatch(/^c/);
    const rest = store.readRow({
      table: "t",
      row,
      columns: [{ ...all, start: first.next! }],
      at: 10,
    }) as RowPage;
    expect(rest).toMatchObject({ cells: [], next: undefined });
    await store.close();
  });

  it("keeps its data when it is closed and reopened, and its counter never goes back", async () => {
    const path = newPath();
    const environment = { ...systemEnvironment, now: () => 5_000 };
    let last = 0;
    for (let round = 0; round < 4; round++) {
      const store = await openLmdbStore(path, { environment });
      expect(store.atomic!.counter()).toBe(last);
      const timestamp = await commit(store, "r", Buffer.from(`${round}`));
      expect(timestamp).toBe(Math.max(last + 1, 5_000_000));
      last = await store.atomic!.next();
      expect(last).toBe(timestamp + 1);
      await store.close();
    }
    const store = await openLmdbStore(path, { environment });
    expect(written(get(store, "r")).toString()).toBe("3");
    await store.close();
  });

  it("takes the wall clock in microseconds if that is ahead of the counter", async () => {
    let now = 1_000;
    const store = await openLmdbStore(newPath(), { environment: { ...systemEnvironment, now: () => now } });
    expect(await store.atomic!.next()).toBe(1_000_000);
    now = 2_000.5;
    expect(await commit(store, "r", column)).toBe(2_000_500);
    now = 1;
    expect(await commit(store, "r", column)).toBe(2_000_501);
    await store.close();
  });

  it("gives out no timestamp of a clock after the year 2255, and stays as it was", async () => {
    let now = 1_000;
    const store = await openLmdbStore(newPath(), { environment: { ...systemEnvironment, now: () => now } });
    expect(await store.atomic!.next()).toBe(1_000_000);
    now = Date.UTC(2300);
    await expect(store.atomic!.next()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    await expect(commit(store, "r", column)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    now = 2_000;
    expect(await commit(store, "r", column)).toBe(2_000_000);
    await store.close();
  });

  it("applies several mutations of a cell together, however many tables the process has used", async () => {
    const store = await openLmdbStore(newPath(), { durability: "none" });
    const row = Buffer.from("r");
    // The prefixes of the first 10,000 tables are kept.
    for (let i = 0; i < 10_000; i++) store.readRow({ table: `t${i}`, row, columns, at: 1 });
    const cell = { table: "last", row };
    const lock = { type: "put", column, part: "lock", timestamp: 1, value: column } as const;
    await store.mutate({ ...cell, guards: [], mutations: [lock] });
    const answer = await store.mutate({
      ...cell,
      guards: [{ type: "present", column, part: "lock", at: 1 }],
      mutations: [
        { type: "put", column, part: "write", timestamp: 2, value: column },
        { type: "delete", column, part: "lock", from: 1, to: 2 },
      ],
    });
    expect(answer).toBe("applied");
    const page = store.readRow({ ...cell, columns, at: 3 }) as RowPage;
    expect(page.cells).toMatchObject([{ write: { timestamp: 2 }, lock: undefined }]);
    await store.close();
  });

  it("grows beyond its initial map", async () => {
    const store = await openLmdbStore(newPath(), { mapSize: 2 ** 20, durability: "none" });
    const value = (i: number) => Buffer.alloc(100_000, i);
    for (let i = 0; i < 300; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => commit(store, `r${i + j}`, value(i + j))));
    }
    for (let i = 0; i < 300; i++) expect(Buffer.compare(written(get(store, `r${i}`)), value(i))).toBe(0);
    expect((await store.statistics()).mapBytes).toBeGreaterThan(30_000_000);
    await store.close();
  });

  it("takes values of 10 MB, and returns every version of them", async () => {
    const store = await openLmdbStore(newPath(), { durability: "none" });
    const value = (i: number) => Buffer.alloc(10_000_000, i);
    const first = await commit(store, "r", value(1));
    await commit(store, "r", value(2));
    expect(Buffer.compare(written(get(store, "r")), value(2))).toBe(0);
    const before = store.readRow({ table: "t", row: Buffer.from("r"), columns, at: first }) as RowPage;
    expect(Buffer.compare(written(before), value(1))).toBe(0);
    expect(before.cells[0]!.latest).toBe(false);
    await store.close();
  });

  it("keeps the event loop free: it lets it go on after some milliseconds of its time", async () => {
    // The clock advances by a millisecond at every read, and the queue reads it every eight requests.
    let looks = 0;
    let turns = 0;
    const environment: Environment = {
      ...systemEnvironment,
      monotonic: () => looks++,
      defer: (callback) => {
        turns++;
        systemEnvironment.defer(callback);
      },
    };
    const store = await openLmdbStore(newPath(), { environment, durability: "none" });
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => commit(store, `r${i}`, column)));
    expect(looks).toBeGreaterThan(100);
    // At most 88 requests in a turn.
    expect(turns).toBeGreaterThan(1_000 / 89);
    await store.close();
  });

  it("divides a table into about equal pieces", async () => {
    const store = await openLmdbStore(newPath(), { durability: "none" });
    const rows = 20_000;
    const name = (i: number) => `row ${String(i).padStart(6, "0")}`;
    const writes = (table: string, i: number) =>
      store.mutate({
        table,
        row: Buffer.from(name(i)),
        guards: [],
        mutations: [{ type: "put", column, part: "write", timestamp: 1, value: Buffer.alloc(50) }],
      });
    for (const table of ["a", "t", "z"]) {
      await Promise.all(Array.from({ length: table === "t" ? rows : 2_000 }, (_, i) => writes(table, i)));
    }
    const points = await store.splitPoints("t", 7);
    expect(points).toHaveLength(7);
    const places = points.map((point) => Number(Buffer.from(point).toString().slice(4)));
    for (const [i, place] of places.entries()) {
      expect(place / rows).toBeGreaterThan((i + 1) / 8 - 0.08);
      expect(place / rows).toBeLessThan((i + 1) / 8 + 0.08);
    }
    expect(await store.splitPoints("nothing", 7)).toEqual([]);
    await store.close();
  });

  it("shows its statistics", async () => {
    const store = await openLmdbStore(newPath(), { maxReaders: 50 });
    await commit(store, "r", column);
    await commit(store, "r", column);
    const figures = await store.statistics();
    expect(figures).toMatchObject({ cells: 1, versions: 0, protocol: 0, maxReaders: 50 });
    expect(figures.bytes).toBeGreaterThan(8_192);
    await store.close();
  });

  it("refuses invalid options", async () => {
    await expect(openLmdbStore(newPath(), { durability: "some" as "none" })).rejects.toThrow(/durability/);
  });
});
