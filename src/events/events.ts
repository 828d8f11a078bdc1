/** A cell by its bytes, as the store holds them. */
export interface EventCell {
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
}

/** Why an observer's transaction ran: the observer and the change that it was due for. */
export interface Cause {
  readonly observer: string;
  readonly cell: EventCell;
  /** Commit timestamp of the newest change of the cell that the worker knew of. */
  readonly commitTimestamp: number;
}

/** One step of a transaction. Steps may overlap: for example, the prewrites of several rows do. */
export interface TransactionSpan {
  /**
   * `read`: a read. `wait`: a wait for another transaction's lock. `step`: a step of the commit.
   */
  readonly kind: "read" | "wait" | "step";
  /** For a read, `get` or `scan`. For a wait, `lock`. For a step, its name, such as `prewrite`. */
  readonly name: string;
  /** Milliseconds from the transaction's start. */
  readonly fromMs: number;
  readonly toMs: number;
  /** For a read of several cells, the first one. */
  readonly cell: EventCell | undefined;
}

/**
 * Every event of a database, in one typed map. Metrics, logs and dashboards are made from these
 * events. All times are in milliseconds and all sizes in bytes, unless the name says otherwise.
 *
 * @example
 * db.on("conflict", ({ table, row }) => console.warn("conflict", table, row));
 */
export interface EventMap {
  /** A transaction committed that had written or notified something. One that only read has no event. */
  commit: {
    readonly startTimestamp: number;
    readonly commitTimestamp: number;
    readonly cells: number;
    /** The table that it wrote to. Undefined if it wrote to several or none. */
    readonly onlyTable: string | undefined;
    readonly label: string | undefined;
    readonly phases: 1 | 2;
    /** From the transaction's start to its commit. */
    readonly durationMs: number;
    /** The part of that time that the commit took, from the call to the answer. */
    readonly commitMs: number;
    /**
     * The change that the observer ran for. Undefined if the transaction was not an observer's run.
     */
    readonly cause: Cause | undefined;
  };
  /** A transaction met another transaction's write or lock, and did not commit. */
  conflict: {
    readonly startTimestamp: number;
    readonly table: string | undefined;
    readonly row: string | undefined;
    readonly column: string | undefined;
    /** The table that it wrote to. Undefined if it wrote to several or none. */
    readonly onlyTable: string | undefined;
    readonly label: string | undefined;
    readonly phases: 1 | 2;
    /** Start or commit timestamp of the transaction that won. Undefined if it is not known. */
    readonly winnerTimestamp: number | undefined;
    readonly durationMs: number;
    readonly cause: Cause | undefined;
  };
  /** A transaction's owner rolled it back, or it failed before its commit point. */
  rollback: {
    readonly startTimestamp: number;
    /** The table that it wrote to. Undefined if it wrote to several or none. */
    readonly onlyTable: string | undefined;
    readonly label: string | undefined;
    /**
     * The number of phases of the failed commit, or of the commit that the transaction would have
     * had.
     */
    readonly phases: 1 | 2;
    readonly durationMs: number;
    readonly cause: Cause | undefined;
    /** The error of its commit or of its function. Undefined if its owner rolled it back. */
    readonly error: unknown;
  };
  /**
   * A transaction ended. Says what it did, for timelines. Recorded only for transactions that begin
   * while this event has a listener. All lists are bounded. For a read of a whole family, the
   * `column` of the cell is the family's name. For a read of all columns, `column` is empty.
   */
  transaction: {
    readonly startTimestamp: number;
    /** Undefined if it wrote nothing or did not commit. */
    readonly commitTimestamp: number | undefined;
    readonly outcome: "committed" | "conflict" | "rolled back";
    readonly label: string | undefined;
    /** Undefined if it committed nothing. */
    readonly phases: 1 | 2 | undefined;
    readonly durationMs: number;
    readonly cause: Cause | undefined;
    /**
     * At most 128, of which at most 96 are reads, so that the steps of the commit are recorded too.
     */
    readonly spans: readonly TransactionSpan[];
    /** How many cells and rows it read. `read` holds the first 64 of them. */
    readonly reads: number;
    readonly read: readonly EventCell[];
    /**
     * How many cells it wrote or deleted, including the observers' own records. `written` holds at
     * most 64 of the user's cells.
     */
    readonly cells: number;
    readonly written: readonly EventCell[];
    /**
     * How many observers became due because of it, counted once per cell. `hinted` holds at most 64
     * of those cells.
     */
    readonly hints: number;
    readonly hinted: readonly EventCell[];
    readonly conflict:
      | {
          /** Undefined if the conflict was on a range. */
          readonly cell: EventCell | undefined;
          /**
           * Start or commit timestamp of the transaction that won. Undefined if it is not known.
           */
          readonly winnerTimestamp: number | undefined;
        }
      | undefined;
    /** The error that caused a rollback. Undefined if its owner rolled it back. */
    readonly error: unknown;
  };
  /** A transaction met another transaction's lock, and resolved it or waited for it. */
  lockResolved: {
    readonly startTimestamp: number;
    readonly outcome: "rolled-forward" | "rolled-back" | "pushed" | "waited";
  };
  /**
   * A background step failed. No caller waits for it, and another process or a later step repeats
   * it.
   */
  backgroundFailure: { readonly doing: string; readonly error: unknown };
  /** This process committed cells that make observers due. */
  hints: { readonly count: number; readonly commitTimestamp: number; readonly observers: readonly string[] };
  /** An observer's run ended. After a run that `failed` for the last time, `parked` follows. */
  run: {
    readonly observer: string;
    readonly outcome: "committed" | "clean" | "conflict" | "failed" | "timeout" | "parked";
    readonly durationMs: number;
    /**
     * From the commit of the change to the commit of the run. Undefined if the run did not commit.
     */
    readonly delayMs: number | undefined;
    /** How many changes it was for: more than 1 in a batch, and of observers that share their runs. */
    readonly changes: number;
    readonly attempts: number;
    readonly error: unknown;
    /** The change that it ran for, or the first of them. */
    readonly cause: Cause;
  };
  /** This process opened or closed a live query. `open` is how many are open now. */
  liveQuery: { readonly open: number };
  /**
   * A live query ran. `delivered`: its consumer got the value. `unchanged`: the value equals the one
   * before, so it was left out. `failed`: the query ends with an error.
   */
  liveRun: {
    readonly outcome: "delivered" | "unchanged" | "failed";
    /** From the beginning of the run, including runs again after an outage of the store. */
    readonly durationMs: number;
  };
  /**
   * This process sent a request to a store outside it, or asked the oracle for a timestamp. The store
   * and the oracle may join several of them into one call. One-phase commits on PostgreSQL have no
   * event.
   */
  request: { readonly kind: RequestKind };
  /**
   * The store sent several guarded mutations of one row as one request. `mutations` counts them.
   */
  joined: { readonly mutations: number };
  /**
   * A run ended that prefetched cells, or that requested more cells of a row that it had read
   * before. The prefetch was based on the reads of earlier runs of its observer. The run read
   * `hits` of the prefetched cells, and never read `wasted` of them. `misses` counts the cells that
   * it had to request although it had read their row before.
   */
  prefetch: {
    readonly observer: string;
    readonly hits: number;
    readonly misses: number;
    readonly wasted: number;
  };
  /** A pass of garbage collection ended. */
  collect: {
    readonly safepoint: number;
    readonly cellsSeen: number;
    readonly versionsDropped: number;
    readonly durationMs: number;
  };
  /** A sweep of a table for expired cells ended. */
  expire: {
    readonly table: string;
    readonly cellsSeen: number;
    /** Cells that the sweep deleted. */
    readonly cellsExpired: number;
    readonly durationMs: number;
  };
}

/**
 * The kinds of request: a read of a row or a cell, a scan of a range, a mutation of one row with or
 * without guards, and a timestamp.
 */
export type RequestKind = "read" | "scan" | "conditionalMutation" | "plainMutation" | "timestamp";

/** The names of all events. */
export type EventName = keyof EventMap;
/** Receives each event of one name: see `db.on`. */
export type EventListener<N extends EventName> = (event: EventMap[N]) => void;
