import type { Snapshot } from "percolatordb";
import type { Source } from "../sources/index.js";
import { documents, tables } from "../tables.js";
import type { BatchRow, BatchRows } from "./batch.js";
import { SourceClaims } from "./claims.js";
import { compareKeys, type RowKey, rowText } from "./order.js";
import { SortedIndex } from "./sorted.js";

/** The comparison of one table with the batch twin's. */
export interface TableVerdict {
  readonly table: string;
  readonly rows: number;
  readonly cells: number;
  /** How many cells differ, are missing or are superfluous. */
  readonly different: number;
  /** The first differences, one sentence each. */
  readonly differences: readonly string[];
}

const maxDifferences = 10;
const longestShown = 80;

export interface CompareOptions {
  /**
   * The last loaded source. If given, each of its pages is compared with the stored page. Default:
   * none.
   */
  readonly source?: Source | undefined;
  /** The most bytes that each of the twin's sorts keeps in memory. Default: 32 MB. */
  readonly heldBytes?: number | undefined;
  /** Called after each page with the twin's memory use in bytes. */
  readonly onHeld?: ((bytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Builds the batch twin of a snapshot's pages, and compares every cell of every table with it. Its
 * memory does not grow with the number of pages, except for the widest row. The sorts spill to
 * temporary files.
 */
export async function compareWithTwin(
  snapshot: Snapshot,
  { source, heldBytes, onHeld, signal }: CompareOptions = {},
): Promise<TableVerdict[]> {
  using twin = new SortedIndex(heldBytes);
  using claims = source && (await SourceClaims.read(source, heldBytes, signal));
  const pages = new Verdict("source");
  for await (const { row, value } of snapshot.scan(documents.contents)) {
    signal?.throwIfAborted();
    twin.add(row, value);
    onHeld?.(twin.heldBytes);
    if (claims === undefined) continue;
    const wrong = await claims.judge(snapshot, row, value, (_, missing) => pages.judged(missing));
    if (wrong !== false) pages.judged(wrong);
  }
  claims?.end((_, missing) => pages.judged(missing));
  const expected = twin.build();
  const verdicts: TableVerdict[] = claims === undefined ? [] : [pages];
  for (const [index, name] of ["documents", "clusters", "links", "postings", "shards"].entries()) {
    const stored = snapshot.scan(tables[index]!) as AsyncIterable<StoredRow>;
    verdicts.push(await compareTable(name, stored, expected[name]!, signal));
    onHeld?.(twin.heldBytes);
  }
  return verdicts;
}

interface StoredRow {
  readonly row: RowKey;
  readonly value: BatchRow;
}

/** Compares both sides row by row, in key order. */
async function compareTable(
  table: string,
  stored: AsyncIterable<StoredRow>,
  expected: BatchRows,
  signal: AbortSignal | undefined,
): Promise<TableVerdict> {
  const verdict = new Verdict(table);
  const batch = expected[Symbol.iterator]();
  let next = batch.next();
  for await (const { row: key, value } of stored) {
    signal?.throwIfAborted();
    const row = rowText(key);
    while (!next.done && compareKeys(next.value[0], row) < 0) {
      verdict.row(next.value[0], {}, next.value[1]);
      next = batch.next();
    }
    if (!next.done && next.value[0] === row) {
      verdict.row(row, value, next.value[1]);
      next = batch.next();
    } else {
      verdict.row(row, value, {});
    }
  }
  for (; !next.done; next = batch.next()) verdict.row(next.value[0], {}, next.value[1]);
  return verdict;
}

const notDerived: ReadonlySet<string> = new Set(["contents", "digests", "captures", "merged"]);

class Verdict implements TableVerdict {
  readonly table: string;
  readonly differences: string[] = [];
  rows = 0;
  cells = 0;
  different = 0;

  constructor(table: string) {
    this.table = table;
  }

  row(row: string, stored: BatchRow, expected: BatchRow): void {
    this.rows++;
    const left = cellsOf(expected);
    for (const [cell, value] of cellsOf(stored)) {
      this.cells++;
      const wanted = left.get(cell);
      left.delete(cell);
      if (value !== wanted) this.#differ(row, cell, value, wanted);
    }
    for (const [cell, wanted] of left) {
      this.cells++;
      this.#differ(row, cell, undefined, wanted);
    }
  }

  /** Records the verdict on a page of a source. */
  judged(difference: string | undefined): void {
    this.rows++;
    this.cells++;
    if (difference !== undefined) this.#add(difference);
  }

  #differ(row: string, cell: string, stored: string | undefined, wanted: string | undefined): void {
    this.#add(`${this.table}/${row}/${cell}: ${show(stored)}, the twin has ${show(wanted)}`);
  }

  #add(difference: string): void {
    this.different++;
    if (this.differences.length < maxDifferences) this.differences.push(difference);
  }
}

/**
 * Returns the cells of a row with their values in one form. Loaded columns are left out, because
 * they are the twin's own input. So are the versions of shards, because they say when a shard was
 * merged.
 */
function cellsOf(row: BatchRow): Map<string, string> {
  const cells = new Map<string, string>();
  for (const [column, value] of Object.entries(row)) {
    if (notDerived.has(column)) continue;
    if (!(value instanceof Map)) {
      cells.set(column, comparable(value));
      continue;
    }
    for (const [qualifier, cell] of value as Map<string, unknown>) {
      cells.set(`${column}:${qualifier}`, comparable(cell));
    }
  }
  return cells;
}

function comparable(value: unknown): string {
  if (!(value instanceof Uint8Array)) return JSON.stringify(value);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
}

function show(value: string | undefined): string {
  if (value === undefined) return "nothing";
  return value.length <= longestShown
    ? value
    : `${value.slice(0, longestShown)}... (${value.length} characters)`;
}
