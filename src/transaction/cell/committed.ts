import { type WriteForm, writeHeaderBytes } from "./records.js";

/** A committed cell as a snapshot shows it. Its value is a part of the write record, and made into bytes when asked for. */
export class CommittedCell {
  readonly column: Uint8Array;
  /** Timestamp of the commit that wrote it. */
  readonly commit: number;
  /** Holds the value from `from` to its end; undefined where the newest write is a delete. */
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

  /** Undefined where the newest write is a delete. */
  get value(): Buffer | undefined {
    return this.source?.subarray(this.from);
  }
}

export interface CommittedRow {
  readonly row: Uint8Array;
  readonly cells: readonly CommittedCell[];
}

/** A copy of what may be lent. */
export function keep(cell: CommittedCell): CommittedCell {
  const { column, commit, value } = cell;
  return value === undefined ? cell : new CommittedCell(column, commit, Buffer.from(value));
}

/** The cell of a write record that holds its value, or deletes. */
export function committed(column: Uint8Array, commit: number, write: Buffer, form: WriteForm): CommittedCell {
  const source = form === "delete" ? undefined : write;
  return new CommittedCell(column, commit, source, writeHeaderBytes);
}
