import type { Snapshot } from "percolatordb";
import { documents, tables } from "../tables.js";
import { BatchIndex, type BatchRow, type BatchRows } from "./batch.js";

/** How one table compares with the batch twin's. */
export interface TableVerdict {
  readonly table: string;
  readonly rows: number;
  readonly cells: number;
  /** How many cells differ, are missing or are left over. */
  readonly different: number;
  /** The first of them, a sentence each. */
  readonly differences: readonly string[];
}

const mostDifferences = 10;
const longestShown = 80;

/** Builds the batch twin of the pages that a snapshot holds, and compares every cell of every table with it. */
export async function compareWithTwin(snapshot: Snapshot, signal?: AbortSignal): Promise<TableVerdict[]> {
  const twin = new BatchIndex();
  for await (const { row, value } of snapshot.scan(documents.contents)) {
    signal?.throwIfAborted();
    twin.add(row, value);
  }
  const expected = twin.build();
  const verdicts: TableVerdict[] = [];
  for (const [index, name] of ["documents", "clusters", "links", "postings", "shards"].entries()) {
    const stored = snapshot.scan(tables[index]!) as AsyncIterable<StoredRow>;
    verdicts.push(await compareTable(name, stored, expected[name]!, signal));
  }
  return verdicts;
}

interface StoredRow {
  readonly row: string;
  readonly value: BatchRow;
}

/** Both sides in the order of their keys, a row at a time. */
async function compareTable(
  table: string,
  stored: AsyncIterable<StoredRow>,
  expected: BatchRows,
  signal: AbortSignal | undefined,
): Promise<TableVerdict> {
  const verdict = new Verdict(table);
  const batch = expected[Symbol.iterator]();
  let next = batch.next();
  for await (const { row, value } of stored) {
    signal?.throwIfAborted();
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

  #differ(row: string, cell: string, stored: string | undefined, wanted: string | undefined): void {
    this.different++;
    if (this.differences.length >= mostDifferences) return;
    this.differences.push(`${this.table}/${row}/${cell}: ${show(stored)}, the twin has ${show(wanted)}`);
  }
}

/** The cells of a row with their values in one form. What was loaded is the twin's own input. */
function cellsOf(row: BatchRow): Map<string, string> {
  const cells = new Map<string, string>();
  for (const [column, value] of Object.entries(row)) {
    if (column === "contents" || column === "digests") continue;
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

function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function show(value: string | undefined): string {
  if (value === undefined) return "nothing";
  return value.length <= longestShown
    ? value
    : `${value.slice(0, longestShown)}... (${value.length} characters)`;
}
