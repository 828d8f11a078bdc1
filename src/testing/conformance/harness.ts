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

/** What the suite needs of a test runner; those of vitest and of node:test both fit. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** Declares one test: it gets a store of its own, opened for it and closed after it. */
export type Declare = (name: string, body: (store: RowStore) => Promise<void>) => void;

export const table = "things";

/** Bytes of a string, each character one byte. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** What {@link bytes} made. */
export function text(value: Uint8Array): string {
  return Buffer.from(value).toString("latin1");
}

/** Rows and columns that test an order by bytes: empty, NUL, 0xFF, and one the beginning of another. */
export const awkwardKeys: readonly string[] = [
  "",
  "\0",
  "\0\0",
  "\0\x01",
  "\0\xff",
  "\x01",
  "a",
  "a\0",
  "a\0\0",
  "a\0\x01",
  "a\0b",
  "a\0\xff",
  "a\x01",
  "aa",
  "ab",
  "a\xff",
  "b",
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

/** Deletes the versions of one part from `from` (inclusive) to `to` (exclusive). */
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

/** Mutates a row; the answer. */
export function mutate(
  store: RowStore,
  row: string,
  mutations: readonly Mutation[],
  guards: readonly Guard[] = [],
): Promise<MutationAnswer> {
  return store.mutate(change(row, mutations, guards));
}

/** Mutates a row that must take it. */
export async function apply(store: RowStore, row: string, ...mutations: readonly Mutation[]): Promise<void> {
  assert.equal(await mutate(store, row, mutations), "applied");
}

/** A view that can be compared: bytes as strings. */
export interface PlainCell {
  readonly column: string;
  readonly lock?: string;
  readonly write?: string;
  readonly latest: boolean;
}

const plainVersion = (version: Version) => `${version.timestamp}=${text(version.value)}`;

export function plainCell(cell: CellView): PlainCell {
  return {
    column: text(cell.column),
    ...(cell.lock === undefined ? {} : { lock: plainVersion(cell.lock) }),
    ...(cell.write === undefined ? {} : { write: plainVersion(cell.write) }),
    latest: cell.latest,
  };
}

/** Takes what it needs of an answer before anything else can run: a store may only lend. */
export async function taking<T, R>(answer: T | Promise<T>, take: (answer: T) => R): Promise<R> {
  return answer instanceof Promise ? answer.then(take) : take(answer);
}

export type RowOptions = Partial<Pick<RowRead, "columns" | "at" | "limit" | "table">>;

/** The whole row, page by page. */
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

/** What is left of `columns` from `start` on. */
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

/** The whole range, page by page; rows that were divided over pages put together again. */
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

/** Each version as `row/column/part@timestamp=value`, in the order shown. */
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

/** The store's atomic batches, which its capabilities promise. */
export function atomicOf(store: RowStore): AtomicStore {
  assert.ok(store.atomic, "a store that declares atomicBatches has `atomic`");
  return store.atomic;
}

/** The same numbers for the same seed, in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Lets the event loop do what waits. */
export function turn(): Promise<void> {
  return new Promise((resolve) => systemEnvironment.defer(resolve));
}
