import type { Columns } from "../../store/index.js";

/**
 * A range of rows that a serializable transaction has read, and that must be unchanged when it
 * commits.
 */
export interface ReadRange {
  readonly table: string;
  readonly start: Uint8Array | undefined;
  readonly end: Uint8Array | undefined;
  readonly columns: Columns;
}

/**
 * Receives every row and range that a transaction reads. `ReadSet` implements it for serializable
 * transactions.
 */
export interface ReadRecorder {
  row(table: string, row: Uint8Array, columns: Columns): void;
  range(range: ReadRange): void;
}
