import { memoryStore } from "percolatordb/memory";
import { postgresStore } from "percolatordb/postgres";
import type { AtomicBatch, Guard, Mutation, Part, RangeGuard, RowStore } from "percolatordb/store";
import { describe, expect, test } from "vitest";
import { commitTimestamp } from "../../src/store/index.js";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { calls, FaultyPool } from "./faulty-pool.js";

/*
 * Batches that are sent together become few calls of the server, in which many of them are checked
 * and applied at once. The result must be as if they ran one after the other.
 */

const rounds = 25;
const names = ["a", "b", "c", "d"].map((name) => Buffer.from(name));
const parts: readonly Part[] = ["write", "write", "lock", "txn"];
const forever = Number.POSITIVE_INFINITY;
/** Larger than every commit timestamp of the test. */
const inTheFuture = Number.MAX_SAFE_INTEGER - 1;

function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function batchOf(number: (below: number) => number): AtomicBatch {
  const pick = <T>(some: readonly T[]) => some[number(some.length)]!;
  const some = <T>(most: number, make: () => T) => Array.from({ length: number(most + 1) }, make);
  const guard = (): Guard => {
    const place = { column: pick(names), part: pick(parts) };
    if (number(2) === 0) return { type: "present", ...place, at: number(4) };
    const from = number(4);
    return { type: "absent", ...place, from, to: from + 1 + number(2) };
  };
  /** What a transaction checks for a cell that it writes, and now and then reads only. */
  const unchanged = (): Guard[] => {
    const column = pick(names);
    const from = number(4) === 0 ? inTheFuture : number(4);
    return [
      { type: "absent", column, part: "lock", from: 0, to: forever },
      { type: "absent", column, part: "write", from, to: forever },
    ];
  };
  const mutation = (): Mutation => {
    const place = { column: pick(names), part: pick(parts) };
    if (number(3) === 0) {
      const value = Buffer.from([number(200)]);
      return { type: "put", column: place.column, part: "write", timestamp: commitTimestamp, value };
    }
    if (number(3) > 0)
      return { type: "put", ...place, timestamp: number(4), value: Buffer.from([number(200)]) };
    const from = number(4);
    return { type: "delete", ...place, from, to: number(2) === 0 ? forever : from + number(4) };
  };
  const range = (): RangeGuard => ({
    table: pick(["t", "u"]),
    start: pick(names),
    end: pick(names),
    columns: number(2) === 0 ? [{ exact: pick(names) }] : [{ start: pick(names), end: undefined }],
    absent: [{ part: pick(parts), from: number(4), to: Number.POSITIVE_INFINITY }],
  });
  const rows = some(3, () => ({
    table: pick(["t", "u"]),
    row: pick(names),
    guards: number(2) === 0 ? some(1, guard) : some(2, unchanged).flat(),
    mutations: some(3, mutation),
  }));
  return { rows, ranges: number(6) === 0 ? [range()] : [] };
}

async function content(store: RowStore): Promise<string[]> {
  const found: { readonly cell: string; readonly timestamp: number; readonly value: number | undefined }[] =
    [];
  for (const table of ["t", "u"]) {
    const columns = [{ start: Buffer.alloc(0), end: undefined }];
    const page = await store.readRaw({ table, columns, parts: ["lock", "write", "data", "txn"] });
    for (const { row, cells } of page.rows) {
      for (const { column, versions } of cells) {
        for (const { part, timestamp, value } of versions) {
          const cell = `${table}/${Buffer.from(row)}/${Buffer.from(column)}/${part}`;
          found.push({ cell, timestamp, value: value[0] });
        }
      }
    }
  }
  // The two stores take their commit timestamps from different clocks, but in the same order.
  const order = [...new Set(found.map(({ timestamp }) => timestamp))].sort((a, b) => a - b);
  return found.map(({ cell, timestamp, value }) => {
    const at = timestamp < 10 ? timestamp : `commit ${order.indexOf(timestamp)}`;
    return `${cell}@${at}=${value}`;
  });
}

describe("batches that are sent together", () => {
  test.each([1, 2, 3])("seed %i: are answered and applied in their order", async (seed) => {
    const place = await newPlace();
    const pool = new FaultyPool(place.host);
    let sent = 0;
    pool.interfere = (query, send) => {
      if (calls(query, "commit_group")) sent++;
      return send();
    };
    const store = await postgresStore({ pool, schema: place.schema, durability: "none" });
    const model = memoryStore();
    const number = randomNumbers(seed);
    const outcomes = new Set<string>();
    for (let round = 0; round < rounds; round++) {
      const batches = Array.from({ length: 1 + number(60) }, () => batchOf(number));
      const answers = await Promise.all(batches.map((batch) => store.atomic!.commit(batch)));
      for (const [index, batch] of batches.entries()) {
        const expected = await model.atomic!.commit(batch);
        const { timestamp: _, ...answer } = { timestamp: 0, ...answers[index]! };
        const { timestamp: __, ...right } = { timestamp: 0, ...expected };
        expect(answer, `seed ${seed}, round ${round}, batch ${index}`).toEqual(right);
        outcomes.add(answer.answer);
      }
      expect(await content(store), `seed ${seed}, round ${round}`).toEqual(await content(model));
    }
    expect([...outcomes].sort()).toEqual(["applied", "rejected"]);
    expect(sent).toBeLessThanOrEqual(2 * rounds);
    await store.close();
    await pool.end();
    await removePlace(place);
  });
});

test.each([
  [10, 2],
  [1, 1],
])("200 batches of %i changes that are sent together are %i groups", async (changes, groups) => {
  const place = await newPlace();
  const pool = new FaultyPool(place.host);
  let sent = 0;
  pool.interfere = (query, send) => {
    if (query.values !== undefined && calls(query, "commit_group")) sent++;
    return send();
  };
  const store = await postgresStore({ pool, schema: place.schema });
  const column = Buffer.from("column");
  const batchAt = (index: number): AtomicBatch => ({
    rows: Array.from({ length: changes }, (_, row) => ({
      table: "t",
      row: Buffer.from(`${index} ${row}`),
      guards: [],
      mutations: [{ type: "put", column, part: "write", timestamp: commitTimestamp, value: column }],
    })),
  });
  const batches = Array.from({ length: 200 }, (_, index) => batchAt(index));
  const answers = await Promise.all(batches.map((batch) => store.atomic!.commit(batch)));
  expect(new Set(answers.map(({ answer }) => answer))).toEqual(new Set(["applied"]));
  expect(sent).toBe(groups);
  await store.close();
  await pool.end();
  await removePlace(place);
});
