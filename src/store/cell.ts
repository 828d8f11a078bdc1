/**
 * What a row store holds: tables of rows, rows of columns, and beneath each column four parts with
 * versions by timestamp. The parts are Percolator's columns `c:lock`, `c:write`, `c:data` (section
 * 2.2 of the paper) and `c:txn`, the transaction's status. A store keeps bytes; what they mean is
 * written above it.
 */

/** Beneath a column, one of the four kinds of cells that the protocol keeps. */
export type Part = "lock" | "write" | "data" | "txn";

/** All parts, in the order in which they are listed. */
export const parts: readonly Part[] = ["lock", "write", "data", "txn"];

/** One version of a cell. `timestamp` is a safe integer, 0 or more. */
export interface Version {
  readonly timestamp: number;
  /**
   * The bytes. What `readRow` answers at once (not by a promise) may only be lent: it holds until
   * the caller yields or calls the store again. Copy to keep. The bytes of a range's page are the
   * caller's.
   */
  readonly value: Uint8Array;
}

/** A version with the part that it stands in. */
export interface PartVersion extends Version {
  readonly part: Part;
}

/** What a transaction at S sees of one column, read atomically with the rest of its row. */
export interface CellView {
  readonly column: Uint8Array;
  /** The newest lock in [0, S]. */
  readonly lock: Version | undefined;
  /** The newest write record in [0, S]. */
  readonly write: Version | undefined;
  /**
   * Whether no write record newer than S stands. Where `write` stands too, no collection can have
   * taken anything that this read needed.
   */
  readonly latest: boolean;
  /**
   * Data cells in [0, S], newest first, where the store has them at hand; the named one may be
   * missing.
   */
  readonly data: readonly Version[];
}

/**
 * The columns of one row that a read shows, in the columns' byte order; only such as hold a lock or
 * write record.
 */
export interface RowView {
  readonly row: Uint8Array;
  readonly cells: readonly CellView[];
}

/** Every stored version of a row's columns, decoded no further. */
export interface RawCell {
  readonly column: Uint8Array;
  /** By part in the order of `parts`, newest first within one. */
  readonly versions: readonly PartVersion[];
}

/** A row with its versions, as a raw read gives it. */
export interface RawRow {
  readonly row: Uint8Array;
  readonly cells: readonly RawCell[];
}

/**
 * One column, or the columns from `start` (inclusive) to `end` (exclusive; undefined: to the last).
 */
export type ColumnRange =
  | { readonly exact: Uint8Array }
  | { readonly start: Uint8Array; readonly end: Uint8Array | undefined };

/** Which columns a read is about: ascending, disjoint. Never empty. */
export type Columns = readonly ColumnRange[];

/** Every column. */
export const allColumns: Columns = [{ start: new Uint8Array(0), end: undefined }];

/** A place in a table: a row, or a column in it. */
export interface Position {
  readonly row: Uint8Array;
  readonly column?: Uint8Array | undefined;
}
