/** A cell by its bytes, as the store has it. */
export interface EventCell {
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
}

/** Why a transaction ran: an observer was due for a change. */
export interface Cause {
  readonly observer: string;
  readonly cell: EventCell;
  /** Commit timestamp of the newest change that is known of. */
  readonly commitTimestamp: number;
}

/** One stretch of a transaction. Stretches may overlap, as the prewrites of several rows do. */
export interface TransactionSpan {
  /** A read; a wait for another transaction's lock; a step of the commit. */
  readonly kind: "read" | "wait" | "step";
  /** Of a read `get` or `scan`; of a wait `lock`; of a step its name, such as `prewrite`. */
  readonly name: string;
  /** Milliseconds from the transaction's beginning. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Of a read of several cells the first one. */
  readonly cell: EventCell | undefined;
}

/**
 * Every event of a database, in one typed map: what metrics, logs and dashboards are made from.
 * All times are milliseconds, all sizes bytes, unless the name says otherwise.
 */
export interface EventMap {
  /** A transaction committed. */
  commit: {
    readonly startTimestamp: number;
    readonly commitTimestamp: number;
    readonly cells: number;
    readonly label: string | undefined;
    readonly phases: 1 | 2;
    /** From its beginning to its commit. */
    readonly durationMs: number;
    /** Of that, the commit itself: from the call to the answer. */
    readonly commitMs: number;
    /** The change that an observer ran for in it; undefined for what was not an observer's run. */
    readonly cause: Cause | undefined;
  };
  /** A transaction met another's write or lock and was not committed. */
  conflict: {
    readonly startTimestamp: number;
    readonly table: string | undefined;
    readonly row: string | undefined;
    readonly column: string | undefined;
    readonly label: string | undefined;
    readonly phases: 1 | 2;
    /** Start or commit timestamp of the transaction that stood in the way, where it is known. */
    readonly winnerTimestamp: number | undefined;
    readonly durationMs: number;
    readonly cause: Cause | undefined;
  };
  /** A transaction was given up: rolled back by its owner, or failed before its commit point. */
  rollback: {
    readonly startTimestamp: number;
    readonly label: string | undefined;
    /** Of the commit that failed, or that it would have had. */
    readonly phases: 1 | 2;
    readonly durationMs: number;
    readonly cause: Cause | undefined;
    /** What its commit failed with; undefined where its owner gave it up. */
    readonly error: unknown;
  };
  /**
   * A transaction ended, with what it did: for timelines. Taken down only of those that begin while
   * somebody listens; all its lists are bounded. A read of a whole row or of a range has the
   * family's name for its column, or no bytes where it was of all columns.
   */
  transaction: {
    readonly startTimestamp: number;
    /** Undefined where it wrote nothing, or did not commit. */
    readonly commitTimestamp: number | undefined;
    readonly outcome: "committed" | "conflict" | "rolled back";
    readonly label: string | undefined;
    /** Where it committed something. */
    readonly phases: 1 | 2 | undefined;
    readonly durationMs: number;
    readonly cause: Cause | undefined;
    /** At most 128, and of reads no more than leaves room for the commit's steps. */
    readonly spans: readonly TransactionSpan[];
    /** How many cells and rows it read; `read`: the first 64 of them. */
    readonly reads: number;
    readonly read: readonly EventCell[];
    /**
     * How many cells it wrote or deleted, the observers' own records included; `written`: 64 of the
     * user's.
     */
    readonly cells: number;
    readonly written: readonly EventCell[];
    /** How many observers became due by it, each on one cell; `hinted`: 64 of those cells. */
    readonly hints: number;
    readonly hinted: readonly EventCell[];
    readonly conflict:
      | {
          /** Undefined where it was met on a range. */
          readonly cell: EventCell | undefined;
          /**
           * Start or commit timestamp of the transaction that stood in the way, where it is known.
           */
          readonly winnerTimestamp: number | undefined;
        }
      | undefined;
    /** What a rollback was due to; undefined where its owner gave it up. */
    readonly error: unknown;
  };
  /** A lock of another transaction stood in the way and was dealt with. */
  lockResolved: {
    readonly startTimestamp: number;
    readonly outcome: "rolled-forward" | "rolled-back" | "pushed" | "waited";
  };
  /** A step of work that nobody waits for failed; it will be done again by whoever meets it. */
  backgroundFailure: { readonly doing: string; readonly error: unknown };
  /** Cells on which observers are due were committed by this process. */
  hints: { readonly count: number; readonly commitTimestamp: number; readonly observers: readonly string[] };
  /** An observer's run ended. */
  run: {
    readonly observer: string;
    readonly outcome: "committed" | "clean" | "conflict" | "failed" | "timeout" | "parked";
    readonly durationMs: number;
    /** From the change's commit to the run's, where it committed. */
    readonly delayMs: number | undefined;
    readonly attempts: number;
    readonly error: unknown;
    /** What it ran for. */
    readonly cause: Cause;
  };
  /**
   * Something was asked of a store that is not in this process, or of the oracle. Such requests as
   * the store gathers count one each.
   */
  request: { readonly kind: RequestKind };
  /** So many guarded mutations of one row were sent as one, and were one request for that. */
  joined: { readonly mutations: number };
  /**
   * A run ended that had cells of rows fetched ahead, by what earlier runs of its observer had
   * read: how many of those it read (`hits`) and never read (`wasted`), and for how many others it
   * had to ask again (`misses`).
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
}

/**
 * What is asked for: a row or a cell; a range; a mutation of one row under guards, or without; a
 * timestamp.
 */
export type RequestKind = "read" | "scan" | "conditionalMutation" | "plainMutation" | "timestamp";

/** The names of all events. */
export type EventName = keyof EventMap;
/** Is told of each event of a name: see `db.on`. */
export type EventListener<N extends EventName> = (event: EventMap[N]) => void;
