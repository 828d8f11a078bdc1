import assert from "node:assert/strict";
import { systemEnvironment } from "../../environment/index.js";
import type {
  AtomicStore,
  CellView,
  ColumnRange,
  Columns,
  Guard,
  Mutation,
  MutationAnswer,
  Part,
  Position,
  RangeRead,
  RawRead,
  RowMutation,
  RowRead,
  RowStore,
  Version,
} from "../../store/index.js";

/** The functions of a test runner that the suite needs. vitest and node:test have them. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** Declares one test. The suite opens a store for each test and closes it afterwards. */
export type Declare = (name: string, body: (store: RowStore) => Promise<void>) => void;

export const table = "things";

/** Returns the bytes of a string. Each character is one byte. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** Returns the string that {@link bytes} would turn into these bytes. */
export function text(value: Uint8Array): string {
  return Buffer.from(value).toString("latin1");
}

/**
 * Rows and columns that test the byte order: empty, with NUL and 0xFF, one that is a prefix of
 * another, others that differ only in their case or in a space at the end, and two characters that
 * UTF-8 and UTF-16 order differently.
 */
export const awkwardKeys: readonly string[] = [
  "",
  "\0",
  "\0\0",
  "\0\x01",
  "\0\xff",
  "\x01",
  "A",
  "a",
  "a\0",
  "a\0\0",
  "a\0\x01",
  "a\0b",
  "a\0\xff",
  "a\x01",
  "a ",
  "aa",
  "ab",
  "a\xff",
  "b",
  "\xef\xbf\xbf",
  "\xf0\x90\x80\x80",
  "\xfe\xff",
  "\xff",
  "\xff\0",
  "\xff\xff",
];

export const exactly = (...columns: readonly string[]): Columns =>
  columns.map((column): ColumnRange => ({ exact: bytes(column) }));

export const between = (start: string, end?: string): Columns => [
  { start: bytes(start), end: end === undefined ? undefined : bytes(end) },
];

export const place = (row: string, column?: string): Position =>
  column === undefined ? { row: bytes(row) } : { row: bytes(row), column: bytes(column) };

export function put(column: string, part: Part, timestamp: number, value: string | Uint8Array): Mutation {
  return {
    type: "put",
    column: bytes(column),
    part,
    timestamp,
    value: typeof value === "string" ? bytes(value) : value,
  };
}

/** A mutation that deletes the versions of one part from `from` (inclusive) to `to` (exclusive). */
export function erase(column: string, part: Part, from: number, to: number): Mutation {
  return { type: "delete", column: bytes(column), part, from, to };
}

export function absent(column: string, part: Part, from = 0, to = Number.POSITIVE_INFINITY): Guard {
  return { type: "absent", column: bytes(column), part, from, to };
}

export function present(
  column: string,
  part: Part,
  at: number,
  value: { equals?: string; below?: string } = {},
): Guard {
  return {
    type: "present",
    column: bytes(column),
    part,
    at,
    equals: value.equals === undefined ? undefined : bytes(value.equals),
    below: value.below === undefined ? undefined : bytes(value.below),
  };
}

export function change(
  row: string,
  mutations: readonly Mutation[],
  guards: readonly Guard[] = [],
  inTable = table,
): RowMutation {
  return { table: inTable, row: bytes(row), guards, mutations };
}

/** Mutates a row and returns the store's answer. */
export function mutate(
  store: RowStore,
  row: string,
  mutations: readonly Mutation[],
  guards: readonly Guard[] = [],
): Promise<MutationAnswer> {
  return store.mutate(change(row, mutations, guards));
}

/** Mutates a row and fails the test unless the store applies the mutation. */
export async function apply(store: RowStore, row: string, ...mutations: readonly Mutation[]): Promise<void> {
  assert.equal(await mutate(store, row, mutations), "applied");
}

/** The view of a cell with its bytes as strings, for comparisons. */
export interface PlainCell {
  readonly column: string;
  readonly lock?: string;
  readonly write?: string;
  readonly latest: boolean;
}

/** A version as `timestamp=value`. */
export const plainVersion = (version: Version) => `${version.timestamp}=${text(version.value)}`;

export function plainCell(cell: CellView): PlainCell {
  return {
    column: text(cell.column),
    ...(cell.lock === undefined ? {} : { lock: plainVersion(cell.lock) }),
    ...(cell.write === undefined ? {} : { write: plainVersion(cell.write) }),
    latest: cell.latest,
  };
}

/**
 * Applies `take` to an answer before any other code can run, because buffers that the store has
 * lent may become invalid as soon as other code runs.
 */
export async function taking<T, R>(answer: T | Promise<T>, take: (answer: T) => R): Promise<R> {
  return answer instanceof Promise ? answer.then(take) : take(answer);
}

export type RowOptions = Partial<Pick<RowRead, "columns" | "at" | "limit" | "table">>;

/** Reads a whole row, page by page. */
export async function row(store: RowStore, name: string, options: RowOptions = {}): Promise<PlainCell[]> {
  const all: PlainCell[] = [];
  let columns: Columns = options.columns ?? between("");
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 10_000, "pages come to an end");
    const read = { table, at: Number.POSITIVE_INFINITY, ...options, row: bytes(name), columns };
    const page = await taking(store.readRow(read), ({ row: shown, cells, next }) => {
      assert.equal(text(shown), name);
      if (options.limit !== undefined) assert.ok(cells.length <= options.limit, "a page holds its limit");
      return { cells: cells.map(plainCell), next: next === undefined ? undefined : Buffer.from(next) };
    });
    all.push(...page.cells);
    if (page.next === undefined) return all;
    columns = from(columns, page.next);
    assert.ok(columns.length > 0, "next lies within what was asked for");
  }
}

/** Returns the part of `columns` that begins at `start`. */
export function from(columns: Columns, start: Uint8Array): Columns {
  return columns.flatMap((range): ColumnRange[] => {
    if ("exact" in range) return Buffer.compare(range.exact, start) < 0 ? [] : [range];
    if (range.end !== undefined && Buffer.compare(range.end, start) <= 0) return [];
    return [Buffer.compare(range.start, start) < 0 ? { start, end: range.end } : range];
  });
}

export interface PlainRow {
  readonly row: string;
  readonly cells: readonly PlainCell[];
}

export type RangeOptions = Partial<Omit<RangeRead, "limit">> & { readonly limit?: number };

const copyPosition = (position: Position): Position => ({
  row: Buffer.from(position.row),
  ...(position.column === undefined ? {} : { column: Buffer.from(position.column) }),
});

/** Reads a whole range, page by page. Joins rows that the store divided between pages. */
export async function range(store: RowStore, options: RangeOptions = {}): Promise<PlainRow[]> {
  const all: { row: string; cells: PlainCell[] }[] = [];
  let { start, end } = options;
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 10_000, "pages come to an end");
    const read = { table, columns: between(""), at: Number.POSITIVE_INFINITY, ...options, start, end };
    const page = await taking(store.readRange(read), ({ rows, next }) => {
      if (options.limit !== undefined) assert.ok(rows.length <= options.limit, "a page holds its limit");
      return {
        rows: rows.map((each) => ({ row: text(each.row), cells: each.cells.map(plainCell) })),
        next: next === undefined ? undefined : copyPosition(next),
      };
    });
    for (const each of page.rows) {
      assert.ok(each.cells.length > 0, "each row shows a cell at least");
      const last = all.at(-1);
      if (last?.row === each.row && !options.reverse) last.cells.push(...each.cells);
      else all.push(each);
    }
    if (page.next === undefined) return all;
    if (options.reverse) end = page.next;
    else start = page.next;
  }
}

/** Reads each version as `row/column/part@timestamp=value`, in the store's order. */
export async function raw(store: RowStore, options: Partial<RawRead> = {}): Promise<string[]> {
  const all: string[] = [];
  let { start } = options;
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 10_000, "pages come to an end");
    const parts: readonly Part[] = ["lock", "write", "data", "txn"];
    const next = await taking(
      store.readRaw({ table, columns: between(""), parts, ...options, start }),
      (page) => {
        if (options.limit !== undefined)
          assert.ok(page.rows.length <= options.limit, "a page holds its limit");
        for (const shown of page.rows) {
          assert.ok(shown.cells.length > 0, "each row shows a cell at least");
          for (const cell of shown.cells) {
            assert.ok(cell.versions.length > 0, "each cell shows a version at least");
            for (const version of cell.versions) {
              all.push(
                `${text(shown.row)}/${text(cell.column)}/${version.part}@${version.timestamp}=${text(version.value)}`,
              );
            }
          }
        }
        return page.next === undefined ? undefined : copyPosition(page.next);
      },
    );
    if (next === undefined) return all;
    start = next;
  }
}

/**
 * Returns the store's atomic batches. Fails the test if the store does not have them although it
 * declares them.
 */
export function atomicOf(store: RowStore): AtomicStore {
  assert.ok(store.atomic, "a store that declares atomicBatches has `atomic`");
  return store.atomic;
}

/** Returns a random number generator for [0, 1). Equal seeds give equal numbers. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Lets the event loop run its waiting tasks. */
export function turn(): Promise<void> {
  return new Promise((resolve) => systemEnvironment.defer(resolve));
}
