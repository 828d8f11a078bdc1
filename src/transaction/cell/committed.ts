import { type WriteForm, writeHeaderBytes } from "./records.js";

/**
 * A committed cell in a snapshot. `RowSettler` builds it from a write record. It slices the value
 * out of the record's bytes only if the caller asks for it.
 */
export class CommittedCell {
  readonly column: Uint8Array;
  /** Timestamp of the commit that wrote the cell. */
  readonly commit: number;
  /** Holds the value, from `from` to its end. Undefined if the newest write is a delete. */
  readonly source: Buffer | undefined;
  readonly from: number;

  constructor(column: Uint8Array, commit: number, source: Buffer | undefined, from = 0) {
    this.column = column;
    this.commit = commit;
    this.source = source;
    this.from = from;
  }

  get isDeleted(): boolean {
    return this.source === undefined;
  }

  /** Undefined if the newest write is a delete. */
  get value(): Buffer | undefined {
    return this.source?.subarray(this.from);
  }
}

/** The committed cells of one row, in ascending column order. */
export interface CommittedRow {
  readonly row: Uint8Array;
  readonly cells: readonly CommittedCell[];
}

/** A copy that stays valid after the store reuses the bytes that it lent. */
export function keep(cell: CommittedCell): CommittedCell {
  const { column, commit, value } = cell;
  return value === undefined ? cell : new CommittedCell(column, commit, Buffer.from(value));
}

/** Builds a cell from a write record that holds its value or deletes the cell. */
export function committed(column: Uint8Array, commit: number, write: Buffer, form: WriteForm): CommittedCell {
  const source = form === "delete" ? undefined : write;
  return new CommittedCell(column, commit, source, writeHeaderBytes);
}
