/**
 * The data model of a row store: tables of rows, rows of columns. Under each column are four parts,
 * with versions by timestamp. The parts are Percolator's columns `c:lock`, `c:write` and `c:data`
 * (section 2.2 of the paper), and `c:txn`, the transaction's status. A store keeps only bytes. The
 * protocol gives the bytes their meaning.
 */

/** One of the four kinds of cells that the protocol keeps under a column. */
export type Part = "lock" | "write" | "data" | "txn";

/** All parts, in the order in which raw reads list them. */
export const parts: readonly Part[] = ["lock", "write", "data", "txn"];

/** One version of a cell. `timestamp` is a safe integer, 0 or more. */
export interface Version {
  readonly timestamp: number;
  /**
   * The bytes. If `readRow` returned them synchronously, without a promise, they are valid only
   * until the caller yields or calls the store again: copy them to keep them. The bytes of a page
   * of a range may be kept.
   */
  readonly value: Uint8Array;
}

/** A version and the part that it belongs to. */
export interface PartVersion extends Version {
  readonly part: Part;
}

/**
 * One column as a transaction with timestamp S sees it. The store reads it atomically with the rest
 * of its row.
 */
export interface CellView {
  readonly column: Uint8Array;
  /** The newest lock with a timestamp from 0 to S. */
  readonly lock: Version | undefined;
  /** The newest write record with a timestamp from 0 to S. */
  readonly write: Version | undefined;
  /**
   * True if no write record is newer than S. If `write` is present too, garbage collection cannot
   * have removed anything that this read needs.
   */
  readonly latest: boolean;
  /**
   * Data cells with timestamps from 0 to S, newest first. The store may leave out some or all of
   * them, even the data cell that `write` names.
   */
  readonly data: readonly Version[];
}

/**
 * The columns of one row that a read shows, in byte order. Only columns with a lock or a write
 * record are shown.
 */
export interface RowView {
  readonly row: Uint8Array;
  readonly cells: readonly CellView[];
}

/** Every stored version of one column, as raw bytes. */
export interface RawCell {
  readonly column: Uint8Array;
  /** In the order of `parts`, and newest first within a part. */
  readonly versions: readonly PartVersion[];
}

/** A row with its versions, as a raw read returns it. */
export interface RawRow {
  readonly row: Uint8Array;
  readonly cells: readonly RawCell[];
}

/**
 * One column, or the columns from `start` (inclusive) to `end` (exclusive). If `end` is undefined,
 * the range extends to the last column.
 */
export type ColumnRange =
  | { readonly exact: Uint8Array }
  | { readonly start: Uint8Array; readonly end: Uint8Array | undefined };

/** The columns that a read covers: ranges in ascending order that do not overlap. Never empty. */
export type Columns = readonly ColumnRange[];

/** Every column. */
export const allColumns: Columns = [{ start: new Uint8Array(0), end: undefined }];

/** A position in a table: a row, or a column of a row. */
export interface Position {
  readonly row: Uint8Array;
  readonly column?: Uint8Array | undefined;
}
