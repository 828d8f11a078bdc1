import fc from "fast-check";
import type { RowStore } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { memoryStore } from "percolatordb/memory";
import type { Guard, MutationAnswer } from "percolatordb/store";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

let emulator: Emulator;
let store: RowStore;
const model = memoryStore({ atomicBatches: false });

const table = "t";
const columns = ["", "a", "a\0", "b"].map((name) => Buffer.from(name));
const parts = ["lock", "write", "data", "txn"] as const;
const values = ["", "m", "mm", "z"].map((value) => Buffer.from(value));
const row = Buffer.from("r");

/** One row with every kind of cell. */
beforeAll(async () => {
  emulator = await startEmulator();
  store = await openBigtableStore("bigtable://p/i", { emulatorHost: emulator.host });
  const mutations = columns.flatMap((column, c) =>
    parts.flatMap((part, p) =>
      [2, 5].flatMap((timestamp) => {
        if ((c + p + timestamp) % 3 === 0) return [];
        return [{ type: "put", column, part, timestamp, value: values[(c + p + timestamp) % 4]! } as const];
      }),
    ),
  );
  for (const each of [store, model]) await each.mutate({ table, row, guards: [], mutations });
});
afterAll(async () => {
  await store.close();
  await emulator.stop();
});

const column = fc.constantFrom(...columns);
const part = fc.constantFrom(...parts);
const optional = fc.option(fc.constantFrom(...values), { nil: undefined });
const present: fc.Arbitrary<Guard> = fc.record({
  type: fc.constant("present" as const),
  column,
  part,
  at: fc.constantFrom(1, 2, 5),
  equals: optional,
  below: optional,
});
const absent: fc.Arbitrary<Guard> = fc.record({
  type: fc.constant("absent" as const),
  column,
  part,
  from: fc.constantFrom(0, 2, 3, 5, 6),
  to: fc.constantFrom(0, 2, 3, 6, Number.POSITIVE_INFINITY),
});
const onePart = fc
  .tuple(part, fc.array(fc.oneof(present, absent), { minLength: 2, maxLength: 4 }))
  .map(([only, guards]) => guards.map((guard) => ({ ...guard, part: only })));

async function outcome(
  of: RowStore,
  guards: readonly Guard[],
  marked: boolean,
): Promise<MutationAnswer | "refused"> {
  const mark = { type: "put", column: Buffer.from("zz"), part: "txn", timestamp: 1, value: row } as const;
  try {
    return await of.mutate({ table, row, guards, mutations: marked ? [mark] : [] });
  } catch (error) {
    expect((error as { code: string }).code).toBe("INVALID_ARGUMENT");
    return "refused";
  }
}

it("decides guards as a store in memory does, or refuses those that Bigtable cannot decide atomically", async () => {
  let refused = 0;
  let mixed = 0;
  const guards = fc.oneof(
    fc.array(present, { maxLength: 4 }),
    fc.array(absent, { maxLength: 4 }),
    fc.array(fc.oneof(present, absent), { maxLength: 4 }),
    onePart,
  );
  await fc.assert(
    fc.asyncProperty(guards, fc.boolean(), async (some, marked) => {
      const answer = await outcome(store, some, marked);
      const isMixed = new Set(some.map((guard) => guard.type)).size === 2;
      if (answer === "refused") {
        expect(isMixed).toBe(true);
        refused++;
        return;
      }
      if (isMixed) mixed++;
      expect(answer).toBe(await outcome(model, some, marked));
    }),
    { numRuns: 400, seed: 7 },
  );
  expect(mixed).toBeGreaterThan(10);
  expect(refused).toBeGreaterThan(10);
});

it("refuses guards whose filter would be longer than Bigtable allows, with nothing changed", async () => {
  const long = (i: number) => Buffer.from(`${i}`.padStart(1_000, "x"));
  const guards = (count: number): Guard[] =>
    Array.from({ length: count }, (_, i) => ({
      type: "absent",
      column: long(i),
      part: "lock",
      from: 0,
      to: 9,
    }));
  const change = (count: number) => ({
    table,
    row: Buffer.from("other"),
    guards: guards(count),
    mutations: [{ type: "put", column: row, part: "txn", timestamp: 1, value: row } as const],
  });
  expect(await store.mutate(change(9))).toBe("applied");
  await expect(store.mutate(change(11))).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  const large = { type: "present", column: row, part: "txn", at: 1, equals: Buffer.alloc(10_300) } as const;
  await expect(store.mutate({ ...change(0), guards: [large] })).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
  });
});

it("fits as many guards into a filter as it declares", async () => {
  const { guardBytes } = store.capabilities;
  for (const length of [0, 10, 100, 1_700]) {
    const count = Math.floor(guardBytes! / (length + 64));
    const guards = Array.from({ length: count }, (_, i): Guard => {
      const name = Buffer.from(`${i}`.padStart(length, "x"));
      return {
        type: "absent",
        column: name,
        part: "write",
        from: Number.MAX_SAFE_INTEGER - 1,
        to: Number.MAX_SAFE_INTEGER,
      };
    });
    expect(await store.mutate({ table, row: Buffer.from("wide"), guards, mutations: [] })).toBe("applied");
  }
});

it("reads more columns than fit into a filter, page by page and in a range", async () => {
  const names = Array.from({ length: 120 }, (_, i) =>
    Buffer.from(`${String(i).padStart(4, "0")}${"y".repeat(600)}`),
  );
  const wide = Buffer.from("w");
  for (const name of [...names.filter((_, i) => i % 3 === 0), Buffer.from("0000z")]) {
    const put = { type: "put", column: name, part: "write", timestamp: 3, value: row } as const;
    await store.mutate({ table: "columns", row: wide, guards: [], mutations: [put] });
  }
  const asked = names.map((exact) => ({ exact }));
  const shown: string[] = [];
  for (let left = asked; left.length > 0; ) {
    const page = await store.readRow({ table: "columns", row: wide, columns: left, at: 9 });
    shown.push(...page.cells.map((cell) => Buffer.from(cell.column).toString()));
    const { next } = page;
    left = next === undefined ? [] : left.filter(({ exact }) => Buffer.compare(exact, next) >= 0);
  }
  const expected = names.filter((_, i) => i % 3 === 0).map(String);
  expect(shown).toEqual(expected);
  for (const reverse of [false, true]) {
    const page = await store.readRange({ table: "columns", columns: asked, at: 9, reverse });
    expect(page.rows.map(({ cells }) => cells.map((cell) => Buffer.from(cell.column).toString()))).toEqual([
      expected,
    ]);
  }
});
