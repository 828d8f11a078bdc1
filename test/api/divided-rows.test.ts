import { type Database, family, open, type RowStore, table, text } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import type { RowMutation } from "percolatordb/store";
import { expect, test } from "vitest";

const wide = table("wide", { parts: family(text()) });
const columns = 40;

/** Returns a store with some methods replaced. */
function replacing(store: RowStore, methods: Partial<RowStore>): RowStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Answers a read of one row with at most `most` columns, whatever the request. */
function dividing(store: RowStore, most: number): RowStore["readRow"] {
  return (read, options) => store.readRow({ ...read, limit: Math.min(read.limit ?? most, most) }, options);
}

function countingOracle() {
  let last = 0;
  return { next: async () => ++last, latest: () => last };
}

const longText = "longer than what is kept beside";
const isCommit = ({ mutations }: RowMutation) =>
  mutations.some((each) => each.type === "put" && each.part === "write");

test("a scan shows wide rows completely if the store divides its answer for a single row with locks", async () => {
  const store = memoryStore({ atomicBatches: false, inlineBytes: 8 });
  let lost = 0;
  const place = replacing(store, {
    readRow: dividing(store, 7),
    // The first mutation that commits secondaries does not reach the store.
    mutate: async (mutation, options) => {
      const isLost = lost === 0 && mutation.table === "wide" && !isPrimary(mutation) && isCommit(mutation);
      if (!isLost) return await store.mutate(mutation, options);
      lost++;
      return "unknown";
    },
  });
  const isPrimary = ({ row }: RowMutation) => Buffer.from(row).toString() === "a";
  await using db = await open(place, { tables: [wide], collectEveryMs: 0, oracle: countingOracle() });
  await db.transact((tx) => {
    for (const row of ["a", "b"]) {
      for (let index = 0; index < columns; index++) tx.set(wide.parts.at(String(index + 100)), row, longText);
    }
  });
  let locks = 0;
  for await (const _ of db.locks()) locks++;
  expect(locks).toBe(columns);
  expect(await sizes(db)).toEqual([
    ["a", columns],
    ["b", columns],
  ]);
  expect(lost).toBe(1);
});

test("a scan takes long values from its pages, and does not read single rows", async () => {
  const store = memoryStore({ atomicBatches: false, inlineBytes: 8 });
  let reads = 0;
  const place = replacing(store, {
    readRow: (read, options) => {
      if (read.table === "wide") reads++;
      return store.readRow(read, options);
    },
    readRaw: (read, options) => {
      if (read.table === "wide") reads++;
      return store.readRaw(read, options);
    },
  });
  await using db = await open(place, { tables: [wide], collectEveryMs: 0, oracle: countingOracle() });
  for (const row of ["a", "b"]) {
    for (const version of [1, 2]) {
      await db.transact((tx) => tx.set(wide.parts.at("x"), row, `${longText} ${version}`));
    }
  }
  reads = 0;
  await using snapshot = await db.snapshot();
  const seen: unknown[] = [];
  for await (const { row, value } of snapshot.scan(wide)) seen.push([row, value.parts?.get("x")]);
  expect(seen).toEqual([
    ["a", `${longText} 2`],
    ["b", `${longText} 2`],
  ]);
  expect(reads).toBe(0);
});

async function sizes(db: Database): Promise<[string, number][]> {
  await using snapshot = await db.snapshot();
  const seen: [string, number][] = [];
  for await (const { row, value } of snapshot.scan(wide)) seen.push([row, value.parts?.size ?? 0]);
  return seen;
}
