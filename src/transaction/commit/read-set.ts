import { LimitExceededError } from "../../errors/index.js";
import { byteString, type Columns } from "../../store/index.js";
import { rowKey } from "../cell/address.js";
import type { ReadRange, ReadRecorder } from "../read/read-recorder.js";

/** A row and the columns of it that were read. */
export interface ReadRow {
  readonly table: string;
  readonly row: Uint8Array;
  readonly columns: Columns;
}

/**
 * Maximum number of rows and ranges that a serializable transaction may read. This bounds the time
 * that the validation takes.
 */
const maxReads = 100_000;

/** Above this number of reads of a row, a set finds their columns. Below it, a linear search is cheaper. */
const fewReads = 16;

/**
 * The rows and ranges that a serializable transaction has read, absent rows included.
 * `validateReads` or the guards of a batch check them at the commit.
 */
export class ReadSet implements ReadRecorder {
  readonly #rows = new Map<string, ReadRow[]>();
  /** The columns that were read of each row with many reads. */
  readonly #columns = new Map<string, Set<string>>();
  readonly #ranges: ReadRange[] = [];
  #count = 0;

  row(table: string, row: Uint8Array, columns: Columns): void {
    const key = rowKey(table, row);
    const known = this.#rows.get(key);
    if (known !== undefined && this.#isKnown(key, known, columns)) return;
    this.#count++;
    if (known === undefined) this.#rows.set(key, [{ table, row, columns }]);
    else known.push({ table, row, columns });
  }

  #isKnown(key: string, known: readonly ReadRow[], columns: Columns): boolean {
    if (known.length < fewReads) return known.some((read) => sameColumns(read.columns, columns));
    let all = this.#columns.get(key);
    if (all === undefined) {
      all = new Set(known.map((read) => columnsKey(read.columns)));
      this.#columns.set(key, all);
    }
    const own = columnsKey(columns);
    if (all.has(own)) return true;
    all.add(own);
    return false;
  }

  range(range: ReadRange): void {
    this.#count++;
    this.#ranges.push(range);
  }

  /** Throws if the transaction at `start` has read too much to be validated. */
  assertBounded(start: number): void {
    if (this.#count <= maxReads) return;
    throw new LimitExceededError(
      `The serializable transaction that started at ${start} read more rows and ranges than can be ` +
        "validated. Read ranges instead of single rows, or divide the work.",
    );
  }

  rows(): readonly ReadRow[] {
    return [...this.#rows.values()].flat();
  }

  get ranges(): readonly ReadRange[] {
    return this.#ranges;
  }
}

/** A string key for sets of selections of columns. */
function columnsKey(columns: Columns): string {
  const only = columns[0];
  if (columns.length === 1 && "exact" in only!) return `=${byteString(only.exact)}`;
  const parts = columns.map((column) =>
    "exact" in column
      ? [byteString(column.exact)]
      : [byteString(column.start), column.end && byteString(column.end)],
  );
  return JSON.stringify(parts);
}

function sameColumns(a: Columns, b: Columns): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every((column, index) => {
    const other = b[index]!;
    return "exact" in column && "exact" in other && Buffer.compare(column.exact, other.exact) === 0;
  });
}
