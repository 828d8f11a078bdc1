import { memoryStore } from "percolatordb/memory";
import { postgresStore } from "percolatordb/postgres";
import type { AtomicBatch, Guard, Mutation, Part, RangeGuard, RowStore } from "percolatordb/store";
import { describe, expect, test } from "vitest";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { FaultyPool } from "./faulty-pool.js";

/*
 * Batches that are sent together become few calls of the server, in which many of them are checked
 * and applied at once. The result must be as if they ran one after the other.
 */

const rounds = 25;
const names = ["a", "b", "c", "d"].map((name) => Buffer.from(name));
const parts: readonly Part[] = ["write", "write", "lock", "txn"];

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
  const mutation = (): Mutation => {
    const place = { column: pick(names), part: pick(parts) };
    if (number(3) > 0)
      return { type: "put", ...place, timestamp: number(4), value: Buffer.from([number(200)]) };
    const from = number(4);
    return { type: "delete", ...place, from, to: from + number(4) };
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
    guards: some(1, guard),
    mutations: some(3, mutation),
  }));
  return { rows, ranges: number(6) === 0 ? [range()] : [] };
}

async function content(store: RowStore): Promise<string[]> {
  const found: string[] = [];
  for (const table of ["t", "u"]) {
    const columns = [{ start: Buffer.alloc(0), end: undefined }];
    const page = await store.readRaw({ table, columns, parts: ["lock", "write", "data", "txn"] });
    for (const { row, cells } of page.rows) {
      for (const { column, versions } of cells) {
        for (const { part, timestamp, value } of versions) {
          found.push(`${table}/${Buffer.from(row)}/${Buffer.from(column)}/${part}@${timestamp}=${value[0]}`);
        }
      }
    }
  }
  return found;
}

describe("batches that are sent together", () => {
  test.each([1, 2, 3])("seed %i: are answered and applied in their order", async (seed) => {
    const place = await newPlace();
    const pool = new FaultyPool(place.host);
    let calls = 0;
    pool.interfere = (query, send) => {
      if (query.text.includes(".commit_group(")) calls++;
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
    expect(calls).toBeLessThanOrEqual(2 * rounds);
    await store.close();
    await pool.end();
    await removePlace(place);
  });
});
