import type { Position } from "./cell.js";

/**
 * A write record inside the store's memory: `buffer` from `start` to `end`. It is valid only until
 * the caller yields or calls the store again.
 */
export interface ZeroCopyRecord {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  /** See {@link CellView.latest}. */
  readonly latest: boolean;
}

/** A read of the cells of one column, in a range as in `RangeRead`. */
export interface ZeroCopyRead {
  readonly table: string;
  readonly start: Position | undefined;
  readonly end: Position | undefined;
  readonly column: Uint8Array;
  readonly at: number;
  readonly reverse: boolean;
  /** The most cells of a page. */
  readonly limit: number;
}

/**
 * Receives the row of a cell and its write record. Both are valid only during the call, and the
 * call must not use the store. If it returns false, it refuses the cell, and the page ends before
 * that cell.
 */
export type TakeCell = (
  row: Buffer,
  rowStart: number,
  rowEnd: number,
  record: Buffer,
  start: number,
  end: number,
) => boolean;

/** How a zero-copy page ended. `next` is as in `RangePage`. */
export interface ZeroCopyPage {
  readonly next: Position | undefined;
  /**
   * Whether the first cell from `next` on was refused, or cannot be read without a copy. If true,
   * read it with `readRange`.
   */
  readonly stopped: boolean;
  /** How many cells the page passed to the caller. */
  readonly cells: number;
}

/**
 * The part of a store that reads cells in this process's memory, synchronously and without an
 * object for each cell. A result is what `readRow` or `readRange` would show at the same moment.
 * The store may always return `undefined`. The caller must then use `readRow` or `readRange`, which
 * return the data or throw the error.
 */
export interface ZeroCopyStore {
  /**
   * Reads one cell, whose row is the first `rowLength` bytes of `row`. Returns the newest write
   * record at or below `at`, if the read would show no lock and no data cell. Returns `"absent"` if
   * the cell has no record either.
   */
  cell(
    table: string,
    row: Uint8Array,
    rowLength: number,
    column: Uint8Array,
    at: number,
  ): ZeroCopyRecord | "absent" | undefined;
  /**
   * Like {@link cell}, for the row whose bytes are the UTF-8 of `row`. Returns `undefined` if the
   * string is not well-formed. Optional: a store that encodes the string directly into its own key saves a copy of the row.
   */
  textCell?(
    table: string,
    row: string,
    column: Uint8Array,
    at: number,
  ): ZeroCopyRecord | "absent" | undefined;
  /**
   * Passes the newest write record at or below `at` of each cell of one column to `take`, in order.
   * Stops at the end of a page, or before a cell that has a lock or a data cell. If the result is
   * `undefined`, the caller must discard what it received.
   */
  column(read: ZeroCopyRead, take: TakeCell): ZeroCopyPage | undefined;
}
