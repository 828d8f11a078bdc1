import { LimitExceededError } from "../../errors/index.js";
import type { Columns } from "../../store/index.js";
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

/**
 * The rows and ranges that a serializable transaction has read, absent rows included.
 * `validateReads` or the guards of a batch check them at the commit.
 */
export class ReadSet implements ReadRecorder {
  readonly #rows = new Map<string, ReadRow[]>();
  readonly #ranges: ReadRange[] = [];
  #count = 0;

  row(table: string, row: Uint8Array, columns: Columns): void {
    const key = rowKey(table, row);
    const known = this.#rows.get(key);
    if (known?.some((read) => sameColumns(read.columns, columns))) return;
    this.#count++;
    if (known === undefined) this.#rows.set(key, [{ table, row, columns }]);
    else known.push({ table, row, columns });
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

function sameColumns(a: Columns, b: Columns): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every((column, index) => {
    const other = b[index]!;
    return "exact" in column && "exact" in other && Buffer.compare(column.exact, other.exact) === 0;
  });
}
