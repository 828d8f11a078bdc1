/**
 * The JSON that the dashboard's server sends and its pages show. This file has only types, so that
 * the server and the pages compile against one contract. Rows, columns and values are text in the
 * command line's format. A text key is unchanged, any other key is JSON, and a cell of a family is
 * `name:qualifier`. Timestamps are those of the database. Names that end in `Ms` are milliseconds,
 * names that end in `At` are milliseconds since 1970.
 */

/**
 * Which processes report transactions to the views. Only the processes that run transactions know
 * what those transactions do.
 */
export type Reach =
  /** This process, or the workers that this process supervises. */
  | "here"
  /** Workers whose dashboards were named with `from`. */
  | "named"
  /** None: the views show only what the store holds. */
  | "store";

/** A cell, as text. */
export interface CellName {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** `GET api/about`: facts that never change while the server runs. */
export interface About {
  readonly version: string;
  /** The location as the command line takes it. */
  readonly location: string;
  readonly store: string;
  readonly commit: "one-phase" | "two-phase";
  readonly retentionMs: number;
  /** Whether retry, discard and resolve are allowed. */
  readonly writable: boolean;
  readonly reach: Reach;
  readonly now: number;
}

/** Percentiles of durations; undefined if there were none. */
export interface Durations {
  readonly count: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

export interface ObserverOverview {
  readonly name: string;
  /** The watched column, as `table.column`. */
  readonly watches: string;
  /** How many live processes run it. */
  readonly hosts: number;
  readonly pending: Count;
  /**
   * By how many changes a second the backlog has grown in the last minute; less than 0 if it
   * shrinks. Undefined if it is not known yet, or if counting stopped at its bound.
   */
  readonly growthPerSecond: number | undefined;
  /** Age of the oldest waiting change. */
  readonly oldestPendingMs: number | undefined;
  readonly parked: Count;
  /** Time from a change's commit to the commit of its run, over the last five minutes. */
  readonly delay: Durations;
  readonly runsPerSecond: number;
  readonly failuresPerSecond: number;
  readonly conflictsPerSecond: number;
}

/** A schedule, with the changes that it should have fired by now but has not. */
export interface ScheduleOverview {
  readonly name: string;
  readonly overdue: Count;
  /** How long ago the oldest of these changes was due. */
  readonly oldestOverdueMs: number | undefined;
}

/** A count. `isBound` says that counting stopped at a bound, so there may be more. */
export interface Count {
  readonly count: number;
  readonly isBound: boolean;
}

/** One value for each second, oldest first. The last value is that of the newest full second. */
export interface Series {
  readonly endsAt: number;
  readonly values: readonly number[];
}

/** What transactions do: rates of the last seconds, and counts of the last five minutes. */
export interface Rates {
  readonly commitsPerSecond: number;
  readonly conflictsPerSecond: number;
  readonly rollbacksPerSecond: number;
  readonly commits: Series;
  readonly conflicts: Series;
}

/** The coordinator of a cluster. */
export interface CoordinatorShown {
  /** Undefined if no coordinator leads. */
  readonly address: string | undefined;
  readonly answers: boolean;
}

/** `GET api/overview`, and event `overview` of `GET api/stream`, once a second. */
export interface Overview extends Rates {
  readonly now: number;
  readonly reach: Reach;
  readonly observers: readonly ObserverOverview[];
  readonly schedules: readonly ScheduleOverview[];
  readonly transactionDuration: Durations;
  readonly pending: Count;
  /** As for an observer, for all of them together. */
  readonly growthPerSecond: number | undefined;
  readonly parked: Count;
  readonly locks: Count;
  readonly workers: number;
  /**
   * Live processes that run observers and send no reports to this dashboard: their transactions are
   * not shown.
   */
  readonly unseen: readonly string[];
  /** Processes that have stopped sending heartbeats and have not ended in order. */
  readonly silent: readonly SilentProcess[];
  readonly safepointAgeMs: number | undefined;
  readonly latestTimestamp: number;
  readonly coordinator: CoordinatorShown | undefined;
  /** Figures that the store reports about itself. */
  readonly statistics: Readonly<Record<string, number>>;
}

/** A process whose heartbeats ended. */
export interface SilentProcess {
  readonly process: string;
  readonly session: string;
  /** When this dashboard saw its last heartbeat. */
  readonly lastHeartbeatAt: number;
  /** Whether the process still exists, if it ran on the dashboard's machine: it is then stopped or blocked. */
  readonly exists: boolean | undefined;
}

/** `GET api/past?after=`: the last hour, or the part of it after a time. */
export interface Past {
  /** The time between two moments. */
  readonly everyMs: number;
  /** Oldest first. Times in which no dashboard ran have none. */
  readonly moments: readonly PastMoment[];
  /** Where the moments are kept. Those in memory are lost when the dashboard ends. */
  readonly keptIn: "database" | "memory";
}

/** What the dashboard has seen at one moment. Rates are undefined if no process reported. */
export interface PastMoment {
  readonly at: number;
  readonly pending: number;
  /** Age of the oldest waiting change. 0 if none waits. */
  readonly oldestMs: number;
  readonly parked: number;
  /** Per second, like the others. */
  readonly commits: number | undefined;
  readonly conflicts: number | undefined;
  readonly failures: number | undefined;
  /** The observers with the largest backlogs. */
  readonly observers: Readonly<
    Record<
      string,
      readonly [pending: number, oldestMs: number, parked: number, failures: number, hosts: number]
    >
  >;
}

/** `GET api/pipeline`: tables and columns, and the observers between them. */
export interface Pipeline {
  readonly reach: Reach;
  readonly tables: readonly {
    readonly name: string;
    /** Whether it belongs to a recipe or to the dashboard, which keep their own records in it. */
    readonly isInternal: boolean;
    readonly columns: readonly { readonly name: string; readonly kind: "column" | "family" | "signal" }[];
  }[];
  readonly observers: readonly ObserverOverview[];
  /** The columns that runs of an observer were seen to read and write while the server listened. */
  readonly flows: readonly {
    readonly observer: string;
    readonly table: string;
    readonly column: string;
    readonly does: "reads" | "writes";
    readonly perSecond: number;
  }[];
}

/**
 * `GET api/rows?table=&prefix=&after=&limit=&at=`: rows as of `at`, which is a timestamp or
 * milliseconds since 1970. Default: now.
 */
export interface RowsPage {
  readonly table: string;
  /** Timestamp of the snapshot. */
  readonly at: number;
  readonly columns: readonly string[];
  /** How many parts the key has, if it is composite. A row is then a JSON array of as many. */
  readonly keyParts: number | undefined;
  readonly rows: readonly RowShown[];
  /** The `after` of the next page; undefined at the end. */
  readonly next: string | undefined;
}

export interface RowShown {
  readonly row: string;
  readonly cells: readonly CellShown[];
}

export interface CellShown {
  /** `name` or `name:qualifier`. */
  readonly column: string;
  readonly value: ValueShown;
}

export interface ValueShown {
  readonly text: string;
  /** Size of the encoded value in bytes. */
  readonly bytes: number;
  /** Whether `text` is only the beginning of the value. `api/row` has a larger bound. */
  readonly isCut: boolean;
}

/** `GET api/row?table=&row=&at=`. */
export interface RowDetail extends RowShown {
  readonly table: string;
  readonly at: number;
}

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
  /** Observers that are due on this row. */
  readonly hints: readonly { readonly observer: string; readonly column: string; readonly since: number }[];
}

/** A part of a transaction that took time. */
export interface TransactionSpan {
  readonly name: string;
  /** Time since the transaction began. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly cell: CellName | undefined;
  readonly kind: "read" | "wait" | "step";
}

/**
 * `GET api/transactions?list=&label=&observer=&outcome=&table=&slowerThanMs=&limit=`: newest first.
 * `list` is `recent` (the default), `slow` (the slowest of the last five minutes, slowest first),
 * `conflicts` or `failed`. The stream sends new ones as event `transactions`.
 */
export interface TransactionShown {
  /** Unique among the remembered transactions. */
  readonly id: string;
  readonly process: string;
  readonly startTimestamp: number;
  readonly commitTimestamp: number | undefined;
  readonly outcome: "committed" | "conflict" | "rolled back";
  readonly label: string | undefined;
  readonly observer: string | undefined;
  readonly phases: 1 | 2 | undefined;
  readonly endedAt: number;
  readonly durationMs: number;
  readonly reads: number;
  readonly cells: number;
  /** The tables that it read, wrote, conflicted on or ran for, as far as they were recorded. */
  readonly tables: readonly string[];
  /** The change that an observer ran for: its cell, and when it was committed. */
  readonly cause: { readonly cell: CellName; readonly commitTimestamp: number } | undefined;
  /**
   * The cell on which the transaction conflicted, and the transaction that won, as far as known.
   */
  readonly conflict:
    | {
        readonly cell: CellName | undefined;
        readonly winnerTimestamp: number | undefined;
        readonly winner: string | undefined;
      }
    | undefined;
  readonly error: string | undefined;
}

/** `GET api/transaction?id=`. */
export interface TransactionDetail extends TransactionShown {
  readonly spans: readonly TransactionSpan[];
  /** The cells that the transaction read and wrote, up to a bound. */
  readonly read: readonly CellName[];
  readonly written: readonly CellName[];
  /**
   * The transaction that caused this one, and the runs that this one caused, if still remembered.
   */
  readonly causedBy: TransactionShown | undefined;
  readonly caused: readonly TransactionShown[];
}

/** `GET api/conflicts`: most frequent first. */
export interface ConflictInsights {
  readonly reach: Reach;
  readonly sinceMs: number;
  readonly pairs: readonly {
    readonly cell: CellName;
    /** How often `loser` lost this cell to `winner`. */
    readonly count: number;
    /** Observer, label, or `transaction`. */
    readonly loser: string;
    readonly winner: string;
    readonly lastAt: number;
    readonly advice: string;
  }[];
  /** The same conflicts by column, most frequent first. Internal tables come last. */
  readonly columns: readonly ConflictColumn[];
}

/** The conflicts over a column. */
export interface ConflictColumn {
  readonly table: string;
  readonly column: string;
  readonly isInternal: boolean;
  readonly count: number;
  readonly lastAt: number;
  /** In how many rows, as far as they were counted, and the rows with most conflicts. */
  readonly rowCount: number;
  readonly rows: readonly { readonly row: string; readonly count: number }[];
  /** Who lost to whom, most frequent first. */
  readonly pairs: readonly { readonly loser: string; readonly winner: string; readonly count: number }[];
  /** What helps. Undefined if no row conflicted more than once: then nothing needs to be done. */
  readonly remedy: string | undefined;
}

/**
 * `GET api/failures?observer=&text=`: the parked changes in groups, the group with the newest one
 * first. `text` is a part of the error, in any case.
 */
export interface Failures {
  readonly groups: readonly FailureGroupShown[];
  /** How many changes were grouped. */
  readonly total: Count;
  /** Changes in none of the groups, because there are too many groups. */
  readonly others: number;
}

/** Parked changes of one observer whose errors differ only in ids, numbers and quoted strings. */
export interface FailureGroupShown {
  /** The `group` of other requests. */
  readonly id: string;
  readonly observer: string;
  /** The error, with `"…"` for quoted strings, and `#` for ids and numbers. */
  readonly message: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The newest changes, newest first, up to a bound. */
  readonly newest: readonly ParkedShown[];
}

/** `GET api/parked/export?group=` or `?observer=`, with `&text=`: a file. */
export interface ParkedExport {
  readonly exportedAt: number;
  readonly observer: string | undefined;
  /** The normalised error of the group. Undefined without a group. */
  readonly message: string | undefined;
  readonly parked: readonly ParkedShown[];
  /** Whether there are more than a file holds. */
  readonly isMore: boolean;
}

/** `GET api/parked?observer=&group=&text=&after=&limit=`, ordered by observer and row. */
export interface ParkedPage {
  readonly parked: readonly ParkedShown[];
  readonly next: string | undefined;
}

export interface ParkedShown extends CellName {
  /**
   * Send it as `{ "id": ... }` to `POST api/parked/retry` or `POST api/parked/discard`. To choose
   * all parked changes of an observer or of a group, send `{ "observer": ... }` or
   * `{ "group": ... }` instead, with a `text` if only some of them are meant.
   */
  readonly id: string;
  readonly observer: string;
  readonly attempts: number;
  readonly parkedAt: number;
  readonly error: string;
  readonly stack: string | undefined;
}

/**
 * The answer of `POST api/parked/retry`, `api/parked/discard` and `api/locks/resolve`. A request that
 * accepts `application/x-ndjson` gets a line of JSON for each step instead: this, so far. The last
 * line has `ended: true`, or is a {@link Failure}.
 */
export interface Acted {
  readonly done: number;
  /** How many of the chosen changes or locks no longer existed. */
  readonly gone: number;
  /** How many locks remain because their owner is alive. */
  readonly standing: number;
  /** True if the request ended at its bound, and there are more. */
  readonly isMore?: boolean;
}

/** `GET api/locks?after=&limit=`. */
export interface LocksPage {
  readonly locks: readonly LockShown[];
  readonly next: string | undefined;
}

export interface LockShown extends CellName {
  /** Send it as `{ "id": ... }` to `POST api/locks/resolve`. */
  readonly id: string;
  readonly kind: string;
  readonly startTimestamp: number;
  readonly primary: CellName;
  readonly isPrimary: boolean;
  readonly session: string;
  readonly ageMs: number;
  readonly ttlMs: number;
  readonly ownerLives: boolean | undefined;
}

/** `GET api/workers`. */
export interface Workers {
  readonly reach: Reach;
  readonly sessions: readonly {
    readonly session: string;
    readonly process: string;
    readonly observers: readonly string[];
    readonly isHere: boolean;
    /** False if the process has stopped sending heartbeats and has not ended in order. */
    readonly isLive: boolean;
    /** For a process that is not live: whether it still exists, if that is known. */
    readonly exists: boolean | undefined;
    readonly lastHeartbeatAt: number;
    /** What the process has said about itself with its last heartbeat. */
    readonly vitals: WorkerVitals | undefined;
    /**
     * By how much the clock of the process is ahead of the dashboard's, as far as heartbeats tell:
     * accurate to about two seconds. Undefined until some heartbeats were seen.
     */
    readonly clockOffsetMs: number | undefined;
    /** Only processes that send reports have the figures below. */
    readonly runsPerSecond: number | undefined;
    readonly commitsPerSecond: number | undefined;
    readonly running: number | undefined;
    readonly claims: number | undefined;
    readonly memoryBytes: number | undefined;
  }[];
  readonly coordinator: CoordinatorShown | undefined;
  /** Processes or named dashboards that sent no report, and why. */
  readonly unheard?: readonly { readonly name: string; readonly error: string }[];
}

/** How a process does, as its heartbeats say. */
export interface WorkerVitals {
  /** Version of the package. */
  readonly version: string;
  readonly upMs: number;
  /** The part of one processor that the process used since its heartbeat before: 0 to 1, or more. */
  readonly cpuShare: number;
  /** The longest delay of its event loop since its heartbeat before. */
  readonly loopDelayMs: number;
  /** Memory of the process, without files that it maps. */
  readonly memoryBytes: number;
}

/**
 * `GET api/heat?table=&metric=writes|conflicts|hints`: counts by key range (the rows of a matrix)
 * and by time (its columns). Without a table, that with most activity.
 */
export interface HeatMap {
  readonly reach: Reach;
  readonly table: string;
  readonly metric: "writes" | "conflicts" | "hints";
  /**
   * The first row of each range, as text. The ranges are chosen so that they have about equal
   * activity.
   */
  readonly ranges: readonly string[];
  readonly startsAt: number;
  readonly bucketMs: number;
  /** Activity of each table in the last minutes, the most active first. */
  readonly totals: readonly { readonly table: string; readonly count: number }[];
  /** `counts[range][bucket]`. */
  readonly counts: readonly (readonly number[])[];
}

/** The answer with any status other than 2xx. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}
