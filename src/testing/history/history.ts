/**
 * One cell. Row and column are their encoded bytes, one character for each byte, so that strings
 * sort as the store's keys do.
 */
export interface CellName {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/**
 * A value in the encoded form that the check compares: JSON text for `text` and `json` columns,
 * digits for numbers, hex for bytes and custom codecs. `undefined` if the cell is empty.
 */
export type RecordedValue = string | undefined;

/**
 * An interval from `start` (inclusive) to `end` (exclusive). Without `end` it has no upper bound.
 */
export interface Interval {
  readonly start: string;
  readonly end: string | undefined;
}

/** A read of one cell. */
export interface RecordedRead {
  readonly type: "read";
  readonly cell: CellName;
  readonly value: RecordedValue;
  /** Moments of the recorder's logical clock. */
  readonly invoked: number;
  readonly completed: number;
}

/** A cell that a scan, a `row` or `entries` returned. */
export interface ShownCell {
  readonly row: string;
  readonly column: string;
  readonly value: string;
}

/**
 * A read of all cells in some rows and columns. `cells` has the cells that had a value. All others
 * were empty.
 */
export interface RecordedRange {
  readonly type: "range";
  readonly table: string;
  /**
   * The rows that the read covered. If the caller left the iteration early, the rows end with the
   * last row returned.
   */
  readonly rows: Interval;
  readonly columns: Interval;
  readonly reverse: boolean;
  /** In the order in which the read returned them. */
  readonly cells: readonly ShownCell[];
  readonly invoked: number;
  readonly completed: number;
}

/** A buffered write. Without a value it is a delete. */
export interface RecordedWrite {
  readonly type: "write";
  readonly cell: CellName;
  readonly value: RecordedValue;
  /** Moment of the recorder's logical clock. */
  readonly at: number;
}

/** One recorded operation of a transaction. */
export type RecordedOperation = RecordedRead | RecordedRange | RecordedWrite;

/** The outcome that a client received. */
export type RecordedOutcome =
  /** Without a commit timestamp, the transaction wrote nothing. */
  | { readonly type: "committed"; readonly commitTimestamp: number | undefined }
  /** The transaction conflicted with another one. It wrote nothing. */
  | { readonly type: "conflicted" }
  /** The transaction was rolled back, failed, or never asked to commit. It wrote nothing. */
  | { readonly type: "failed" }
  /** The transaction asked to commit and got no answer. */
  | { readonly type: "unknown" };

/**
 * One transaction as its client saw it. Each attempt of a retried transaction is recorded
 * separately.
 */
export interface RecordedTransaction {
  /** Unique in the history. Messages show it as `T1`. */
  readonly id: number;
  readonly client: string;
  readonly label?: string | undefined;
  readonly kind: "transaction" | "snapshot" | "observer";
  readonly isolation: "snapshot" | "serializable";
  readonly startTimestamp: number;
  /**
   * Moment of the logical clock before the transaction asked for its start timestamp. Omitted if it
   * is unknown (an observer's run) or meaningless (a snapshot of the past). The check then skips
   * real-time order and sessions.
   */
  readonly begun?: number | undefined;
  /** Moment at which the client received the outcome. Omitted if it received none. */
  readonly ended?: number | undefined;
  readonly outcome: RecordedOutcome;
  readonly operations: readonly RecordedOperation[];
}

/** A committed version of a cell in the store. */
export interface AuditedVersion {
  readonly commitTimestamp: number;
  readonly startTimestamp: number;
  readonly value: RecordedValue;
}

/** The contents of the store at the end. With an audit, the check infers no outcome from reads. */
export interface HistoryAudit {
  /** Versions below this timestamp may have been collected. */
  readonly safepoint: number;
  readonly cells: readonly { readonly cell: CellName; readonly versions: readonly AuditedVersion[] }[];
}

/** A cell that had a value before the recording. */
export interface InitialCell {
  readonly cell: CellName;
  readonly value: string;
}

/**
 * What clients did to a database, and the answers that they got. It must include every transaction
 * that wrote a cell of the history.
 */
export interface History {
  readonly transactions: readonly RecordedTransaction[];
  /** Cells with a value before the first transaction. Default: none. */
  readonly initial?: readonly InitialCell[] | undefined;
  readonly audit?: HistoryAudit | undefined;
}
