import assert from "node:assert/strict";
import {
  type AtomicBatch,
  type ColumnRange,
  type Columns,
  commitTimestamp,
  type Guard,
  type Mutation,
  type Part,
  type Position,
  type RangeGuard,
  type RowMutation,
  type RowStore,
} from "../../store/index.js";
import { awkwardKeys, bytes, type Declare, range, raw, row, seededRandom } from "./harness.js";
import { ModelStore } from "./model.js";
import { checkLentCell, checkLentColumn } from "./zero-copy.js";

const tables = ["t", "tt", "~t"] as const;
const parts: readonly Part[] = ["write", "write", "lock", "data", "txn"];
const latest = 14;
/** Lengths near the limits at which stores change how they store a value. */
const lengths = [0, 1, 3, 63, 65, 16_384, 16_385, 40_000];

/**
 * Draws requests. It uses few rows, columns and timestamps, so that requests often concern the same
 * cells.
 */
class Requests {
  readonly #random: () => number;
  readonly #keys: readonly string[];
  readonly #mixedGuards: boolean;

  constructor(seed: number, { capabilities }: RowStore) {
    this.#random = seededRandom(seed);
    this.#mixedGuards = capabilities.mixedGuards ?? true;
    this.#keys = Array.from({ length: 6 }, () => this.pick(awkwardKeys));
  }

  number(below: number): number {
    return Math.floor(this.#random() * below);
  }

  pick<T>(some: readonly T[]): T {
    return some[this.number(some.length)]!;
  }

  table(): string {
    return this.pick(tables);
  }

  key(): string {
    return this.pick(this.#keys);
  }

  at(): number {
    return this.number(8) === 0 ? Number.POSITIVE_INFINITY : this.number(latest + 2);
  }

  columns(): Columns {
    if (this.number(3) === 0) return [{ start: bytes(""), end: undefined }];
    const keys = [...new Set([this.key(), this.key(), this.key()])]
      .map(bytes)
      .sort((a, b) => Buffer.compare(a, b));
    const ranges: ColumnRange[] = [];
    for (let i = 0; i < keys.length; i++) {
      const next = keys[i + 1];
      if (this.number(2) === 0) ranges.push({ exact: keys[i]! });
      else if (next !== undefined) ranges.push({ start: keys[i]!, end: next });
      else ranges.push({ start: keys[i]!, end: undefined });
    }
    return ranges;
  }

  position(): Position | undefined {
    if (this.number(3) === 0) return undefined;
    return this.number(2) === 0
      ? { row: bytes(this.key()) }
      : { row: bytes(this.key()), column: bytes(this.key()) };
  }

  interval(): { from: number; to: number } {
    const from = this.number(latest);
    return { from, to: this.number(3) === 0 ? Number.POSITIVE_INFINITY : from + this.number(6) };
  }

  mutation(batch: boolean): Mutation {
    const column = bytes(this.key());
    const part = this.pick(parts);
    if (this.number(4) === 0) return { type: "delete", column, part, ...this.interval() };
    const timestamp = batch && this.number(3) === 0 ? commitTimestamp : this.number(latest);
    const value = Buffer.alloc(this.pick(lengths), this.number(256));
    return { type: "put", column, part, timestamp, value };
  }

  guard(): Guard {
    const column = bytes(this.key());
    const part = this.pick(parts);
    if (this.number(3) > 0) {
      const from = this.number(latest + 8);
      return { type: "absent", column, part, from, to: from + this.number(3) };
    }
    return { type: "present", column, part, at: this.number(latest) };
  }

  guards(): Guard[] {
    const guards = this.some(2, () => this.guard());
    const kinds = new Set(guards.map((guard) => guard.type));
    return kinds.size < 2 || this.#mixedGuards ? guards : guards.slice(0, 1);
  }

  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.number(most + 1) }, make);
  }

  rowMutation(batch: boolean): RowMutation {
    return {
      table: this.table(),
      row: bytes(this.key()),
      guards: this.number(3) === 0 ? this.guards() : [],
      mutations: this.some(4, () => this.mutation(batch)),
    };
  }

  rangeGuard(): RangeGuard {
    return {
      table: this.table(),
      columns: this.columns(),
      start: this.number(2) === 0 ? undefined : bytes(this.key()),
      end: this.number(2) === 0 ? undefined : bytes(this.key()),
      absent: this.some(2, () => ({ part: this.pick(parts), from: 12, to: 14 })),
    };
  }

  batch(): AtomicBatch {
    const ranges = this.number(3) === 0 ? this.some(2, () => this.rangeGuard()) : [];
    return { rows: this.some(4, () => this.rowMutation(true)), ranges };
  }
}

async function write(store: RowStore, model: ModelStore, requests: Requests): Promise<void> {
  if (store.atomic === undefined || requests.number(2) === 0) {
    const mutation = requests.rowMutation(false);
    assert.equal(await store.mutate(mutation), model.mutate(mutation));
    return;
  }
  const batch = requests.batch();
  const answer = await store.atomic.commit(batch);
  const timestamp = "timestamp" in answer ? answer.timestamp : 0;
  assert.deepEqual(answer, model.commit(batch, timestamp));
}

async function compareReads(store: RowStore, model: ModelStore, requests: Requests): Promise<void> {
  const table = requests.table();
  const columns = requests.columns();
  const at = requests.at();
  const limit = 1 + requests.number(4);
  const name = requests.key();
  const found = await row(store, name, { table, columns, at, limit });
  assert.deepEqual(found, model.row(table, name, columns, at));

  const start = requests.position();
  const end = requests.position();
  const expected = model.range(table, columns, at, start, end);
  assert.deepEqual(await range(store, { table, columns, at, start, end, limit }), expected);
  if (store.capabilities.reverseScans) {
    const reversed = await range(store, { table, columns, at, start, end, limit, reverse: true });
    assert.deepEqual(reversed.reverse(), expected);
  }

  const column = requests.key();
  await checkLentCell(store, { table, row: name, column, at });
  const reverse = store.capabilities.reverseScans && requests.number(2) === 0;
  await checkLentColumn(store, { table, start, end, column: bytes(column), at, reverse, limit });

  const some: readonly Part[] = requests.some(4, () => requests.pick(parts));
  const { from, to } = requests.interval();
  const versions = await raw(store, { table, columns, parts: some, from, to, limit });
  assert.deepEqual(versions, model.raw(table, columns, some, from, to));
}

/** Tests that compare each answer to a random request with that of a naive store. */
export function randomTests(test: Declare, seeds: readonly number[], steps: number): void {
  for (const seed of seeds) {
    test(`random requests are answered as by a naive store (seed ${seed})`, async (store) => {
      const requests = new Requests(seed, store);
      const model = new ModelStore();
      for (let step = 0; step < steps; step++) {
        await write(store, model, requests);
        await compareReads(store, model, requests);
      }
      for (const table of tables) {
        const all: Columns = [{ start: bytes(""), end: undefined }];
        const every: readonly Part[] = ["lock", "write", "data", "txn"];
        const versions = await raw(store, { table });
        assert.deepEqual(versions, model.raw(table, all, every, 0, Number.POSITIVE_INFINITY));
      }
    });
  }
}
