/** One cell. Row and column are their encoded bytes, a character each, so that strings order as the store's keys do. */
export interface CellName {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/**
 * A value in its encoded form, which is what is compared: JSON text for `text` and `json` columns, digits for numbers, hex
 * for bytes and custom codecs. `undefined` where nothing is.
 */
export type RecordedValue = string | undefined;

/** From `start` (inclusive) to `end` (exclusive; without one, to the last). */
export interface Interval {
  readonly start: string;
  readonly end: string | undefined;
}

/** One cell that was read. */
export interface RecordedRead {
  readonly type: "read";
  readonly cell: CellName;
  readonly value: RecordedValue;
  /** Moments of the recorder's logical clock. */
  readonly invoked: number;
  readonly completed: number;
}

/** What a scan, a `row` or `entries` has shown of a cell. */
export interface ShownCell {
  readonly row: string;
  readonly column: string;
  readonly value: string;
}

/** All cells of some rows and columns: those in `cells` had a value, every other one of them had none. */
export interface RecordedRange {
  readonly type: "range";
  readonly table: string;
  /** The rows that were covered: up to the last one shown where the iteration was left early. */
  readonly rows: Interval;
  readonly columns: Interval;
  readonly reverse: boolean;
  /** In the order in which they were shown. */
  readonly cells: readonly ShownCell[];
  readonly invoked: number;
  readonly completed: number;
}

/** A buffered write; without a value, a delete. */
export interface RecordedWrite {
  readonly type: "write";
  readonly cell: CellName;
  readonly value: RecordedValue;
  /** Moment of the recorder's logical clock. */
  readonly at: number;
}

/** One thing that a transaction did, as it was recorded. */
export type RecordedOperation = RecordedRead | RecordedRange | RecordedWrite;

/** What a client was told of its transaction. */
export type RecordedOutcome =
  /** Without a commit timestamp: it wrote nothing. */
  | { readonly type: "committed"; readonly commitTimestamp: number | undefined }
  /** Lost against another transaction; nothing was written. */
  | { readonly type: "conflicted" }
  /** Rolled back, failed, or never asked to commit; nothing was written. */
  | { readonly type: "failed" }
  /** Asked to commit, and never told. */
  | { readonly type: "unknown" };

/** One transaction, as its client saw it. Every attempt of a retried one is a transaction of its own. */
export interface RecordedTransaction {
  /** Unique in the history; shown as `T1`. */
  readonly id: number;
  readonly client: string;
  readonly label?: string | undefined;
  readonly kind: "transaction" | "snapshot" | "observer";
  readonly isolation: "snapshot" | "serializable";
  readonly startTimestamp: number;
  /**
   * Moment of the logical clock before the transaction asked for its start timestamp. Left out where that is not known
   * (an observer's run) or means nothing (a snapshot of the past): real time and sessions are then not checked.
   */
  readonly begun?: number | undefined;
  /** Moment at which the client was told the outcome; left out where it never was. */
  readonly ended?: number | undefined;
  readonly outcome: RecordedOutcome;
  readonly operations: readonly RecordedOperation[];
}

/** A committed version that the store holds of a cell. */
export interface AuditedVersion {
  readonly commitTimestamp: number;
  readonly startTimestamp: number;
  readonly value: RecordedValue;
}

/** What stands in the store in the end: with it, nothing about the outcomes is left to be inferred from reads. */
export interface HistoryAudit {
  /** What is older may have been collected. */
  readonly safepoint: number;
  readonly cells: readonly { readonly cell: CellName; readonly versions: readonly AuditedVersion[] }[];
}

/** A cell that had a value before anything was recorded. */
export interface InitialCell {
  readonly cell: CellName;
  readonly value: string;
}

/** What clients did to a database, and were answered. Every writer of the cells concerned must be in it. */
export interface History {
  readonly transactions: readonly RecordedTransaction[];
  /** Cells with a value before the first transaction. Default: none. */
  readonly initial?: readonly InitialCell[] | undefined;
  readonly audit?: HistoryAudit | undefined;
}
