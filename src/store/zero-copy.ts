import type { Position } from "./cell.js";

/**
 * A write record where the store has it: `buffer` from `start` to `end`, until the caller yields or
 * calls the store again.
 */
export interface ZeroCopyRecord {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  /** As in `CellView`. */
  readonly latest: boolean;
}

/** Cells of one column, as `RangeRead` would name them. */
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
 * Is handed the row of a cell and its write record, both lent for the length of the call, in which
 * the store must not be called. False refuses the cell: the page ends before it.
 */
export type TakeCell = (
  row: Buffer,
  rowStart: number,
  rowEnd: number,
  record: Buffer,
  start: number,
  end: number,
) => boolean;

/** How a page of lent cells ended. `next` as in `RangePage`. */
export interface ZeroCopyPage {
  readonly next: Position | undefined;
  /**
   * The first cell from `next` on is one that was refused, or cannot be lent: `readRange` shows it.
   */
  readonly stopped: boolean;
  /** How many were handed over. */
  readonly cells: number;
}

/**
 * What a store offers that has its cells in this process's memory: it lends them where they are, at
 * once and without an object for each. Every answer is what `readRow` or `readRange` would show at
 * the same moment; `undefined`, always allowed, says that these have to be asked, for what they
 * would show or for the reason why they fail.
 */
export interface ZeroCopyStore {
  /**
   * One cell, whose row is the first `rowLength` bytes of `row`: the newest write record at or
   * below `at`, if there is no lock and no data cell to be seen. `"absent"` where there is no
   * record either.
   */
  cell(
    table: string,
    row: Uint8Array,
    rowLength: number,
    column: Uint8Array,
    at: number,
  ): ZeroCopyRecord | "absent" | undefined;
  /**
   * Hands over the newest write record at or below `at` of each cell of one column, in order, up to
   * the end of a page or to a cell that has more to be seen. Where the answer is `undefined`, what
   * was handed over does not count.
   */
  column(read: ZeroCopyRead, take: TakeCell): ZeroCopyPage | undefined;
}
