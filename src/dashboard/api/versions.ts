import type { CellName, ValueShown } from "./shared.js";

/** `GET api/history?table=&row=&column=`: the versions of a cell, newest first. */
export interface CellHistory extends CellName {
  readonly versions: readonly {
    readonly commitTimestamp: number;
    readonly startTimestamp: number;
    readonly at: number;
    /** Undefined if no process of this dashboard remembers the transaction. */
    readonly writer: Writer | undefined;
    /** Undefined for a delete. */
    readonly value: ValueShown | undefined;
  }[];
  /** Whether the cell has more versions, which are older. */
  readonly isCut: boolean;
}

/** The transaction that wrote a version, as far as a process remembers it. */
export interface Writer {
  /** Its observer or label. Undefined if it has neither. */
  readonly name: string | undefined;
  readonly isObserver?: boolean;
  readonly process?: string;
  /** For `GET api/transaction`, if its details are still known. */
  readonly id?: string;
}

/**
 * `GET api/inspect?table=&row=`: the protocol cells of a row, in the form of the paper's figure 4.
 */
export interface InspectedRow {
  readonly table: string;
  readonly row: string;
  readonly columns: readonly {
    readonly column: string;
    /** What the column is for: `user`, or a record of the protocol. */
    readonly role: "user" | "acknowledgment" | "parked" | "other";
    /** One entry for each timestamp at which the column has a record, newest first. */
    readonly entries: readonly {
      readonly timestamp: number;
      readonly at: number;
      readonly data: ValueShown | undefined;
      readonly lock: string | undefined;
      readonly write: string | undefined;
      readonly status: string | undefined;
    }[];
  }[];
  /** Whether the row has more columns, or one of them has older entries. */
  readonly isCut: boolean;
  /** Observers that are due on this row. */
  readonly hints: readonly { readonly observer: string; readonly column: string; readonly since: number }[];
}
