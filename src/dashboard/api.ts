/**
 * What the dashboard's server answers and its pages show: types only, so that both ends are compiled against one contract.
 * All of it is JSON. Rows, columns and values are text as the command line writes them: a key of text as it is, any other as JSON;
 * a cell of a family as `name:qualifier`. Timestamps are the database's; what ends in `Ms` is milliseconds, `...At` is
 * milliseconds since 1970.
 */

/** Where a view's data comes from besides the store: what transactions do is known to the processes that run them. */
export type Reach =
  /** This process, or the workers that this process supervises. */
  | "here"
  /** Workers whose dashboards were named. */
  | "named"
  /** Nobody who runs transactions is listened to: only what the store holds can be shown. */
  | "store";

/** A cell, as text. */
export interface CellName {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** `GET api/about`: what never changes while the server runs. */
export interface About {
  readonly version: string;
  /** As the command line takes it. */
  readonly location: string;
  readonly store: string;
  readonly commit: "one-phase" | "two-phase";
  readonly retentionMs: number;
  /** Whether retry, discard and resolve are allowed. */
  readonly writable: boolean;
  readonly reach: Reach;
  readonly now: number;
}

/** Of durations: undefined where there were none. */
export interface Durations {
  readonly count: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

export interface ObserverOverview {
  readonly name: string;
  /** `table.column` that it watches. */
  readonly watches: string;
  /** Live processes that run it. */
  readonly hosts: number;
  readonly pending: Count;
  /** Age of the oldest change that waits. */
  readonly oldestPendingMs: number | undefined;
  readonly parked: Count;
  /** From a change's commit to its run's, of the last minutes. */
  readonly delay: Durations;
  readonly runsPerSecond: number;
  readonly failuresPerSecond: number;
  readonly conflictsPerSecond: number;
}

/** A schedule: what it should have fired by now, and has not. */
export interface ScheduleOverview {
  readonly name: string;
  readonly overdue: Count;
  /** How long ago the oldest of them was due. */
  readonly oldestOverdueMs: number | undefined;
}

/** How many; counting stops at a bound. */
export interface Count {
  readonly count: number;
  readonly isBound: boolean;
}

/** A figure of each second, oldest first; the last is of the newest full second. */
export interface Series {
  readonly endsAt: number;
  readonly values: readonly number[];
}

/** `GET api/overview`, and event `overview` of `GET api/stream`, once a second. */
export interface Overview {
  readonly now: number;
  readonly reach: Reach;
  readonly observers: readonly ObserverOverview[];
  readonly schedules: readonly ScheduleOverview[];
  readonly commitsPerSecond: number;
  readonly conflictsPerSecond: number;
  readonly rollbacksPerSecond: number;
  readonly commits: Series;
  readonly conflicts: Series;
  readonly transactionDuration: Durations;
  readonly pending: Count;
  readonly parked: Count;
  readonly locks: Count;
  readonly workers: number;
  readonly safepointAgeMs: number | undefined;
  readonly latestTimestamp: number;
  readonly coordinator: { readonly address: string | undefined; readonly answers: boolean } | undefined;
  /** What the store counts of itself. */
  readonly statistics: Readonly<Record<string, number>>;
}

/** `GET api/pipeline`: tables and columns, and the observers between them. */
export interface Pipeline {
  readonly reach: Reach;
  readonly tables: readonly {
    readonly name: string;
    readonly columns: readonly { readonly name: string; readonly kind: "column" | "family" | "signal" }[];
  }[];
  readonly observers: readonly ObserverOverview[];
  /** What runs of an observer were seen to read and write, by column: learned while the server listens. */
  readonly flows: readonly {
    readonly observer: string;
    readonly table: string;
    readonly column: string;
    readonly does: "reads" | "writes";
    readonly perSecond: number;
  }[];
}

/** `GET api/rows?table=&prefix=&after=&limit=&at=`: rows as of a moment. `at`: a timestamp or milliseconds since 1970; default: now. */
export interface RowsPage {
  readonly table: string;
  /** The snapshot's timestamp. */
  readonly at: number;
  readonly columns: readonly string[];
  readonly rows: readonly RowShown[];
  /** Give it as `after` for the rows behind; undefined at the end. */
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
  /** Encoded bytes. */
  readonly bytes: number;
  /** Whether `text` is only its beginning; `api/row` gives up to a bound that is larger. */
  readonly isCut: boolean;
}

/** `GET api/row?table=&row=&at=`. */
export interface RowDetail extends RowShown {
  readonly table: string;
  readonly at: number;
}

/** `GET api/history?table=&row=&column=`: newest first. */
export interface CellHistory extends CellName {
  readonly versions: readonly {
    readonly commitTimestamp: number;
    readonly startTimestamp: number;
    readonly at: number;
    /** Undefined for a delete. */
    readonly value: ValueShown | undefined;
  }[];
}

/** `GET api/inspect?table=&row=`: the protocol view, as the paper's figure 4. */
export interface InspectedRow {
  readonly table: string;
  readonly row: string;
  readonly columns: readonly {
    readonly column: string;
    /** What of it is the protocol's own: an observer's acknowledgment or the like. */
    readonly role: "user" | "acknowledgment" | "parked" | "other";
    /** Newest first: one line for each timestamp at which anything stands. */
    readonly entries: readonly {
      readonly timestamp: number;
      readonly at: number;
      readonly data: ValueShown | undefined;
      readonly lock: string | undefined;
      readonly write: string | undefined;
      readonly status: string | undefined;
    }[];
  }[];
  /** Observers that are due on the row. */
  readonly hints: readonly { readonly observer: string; readonly column: string; readonly since: number }[];
}

/** One stretch of a transaction. */
export interface TransactionSpan {
  readonly name: string;
  /** From the transaction's beginning. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly cell: CellName | undefined;
  readonly kind: "read" | "wait" | "step";
}

/** `GET api/transactions?label=&observer=&outcome=&table=&limit=`: newest first; event `transactions` of the stream has new ones. */
export interface TransactionShown {
  /** Unique within the server's memory. */
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
  /** The change that an observer ran for: its cell, and the transaction that committed it. */
  readonly cause: { readonly cell: CellName; readonly commitTimestamp: number } | undefined;
  /** Where it conflicted, and with whom, where that is known. */
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
  /** Cells that it read and wrote, up to a bound. */
  readonly read: readonly CellName[];
  readonly written: readonly CellName[];
  /** Of those that are remembered: what caused it, and the runs that it caused. */
  readonly causedBy: TransactionShown | undefined;
  readonly caused: readonly TransactionShown[];
}

/** `GET api/conflicts`: the most frequent first. */
export interface ConflictInsights {
  readonly reach: Reach;
  readonly sinceMs: number;
  readonly pairs: readonly {
    readonly cell: CellName;
    /** How many conflicts on that cell between the two. */
    readonly count: number;
    /** Observer, label, or `transaction`. */
    readonly loser: string;
    readonly winner: string;
    readonly lastAt: number;
    readonly advice: string;
  }[];
}

/** `GET api/parked?observer=&after=&limit=`. */
export interface ParkedPage {
  readonly parked: readonly ParkedShown[];
  readonly next: string | undefined;
}

export interface ParkedShown extends CellName {
  /** Give it to `POST api/parked/retry` or `api/parked/discard` as `{ "id": ... }`; with `{ "observer": ... }` all of one observer. */
  readonly id: string;
  readonly observer: string;
  readonly attempts: number;
  readonly parkedAt: number;
  readonly error: string;
  readonly stack: string | undefined;
}

/** What `POST api/parked/retry`, `api/parked/discard` and `api/locks/resolve` answer. */
export interface Acted {
  readonly done: number;
  /** What was not there any more. */
  readonly gone: number;
  /** What still stands: locks whose owner lives. */
  readonly standing: number;
}

/** `GET api/locks?after=&limit=`. */
export interface LocksPage {
  readonly locks: readonly LockShown[];
  readonly next: string | undefined;
}

export interface LockShown extends CellName {
  /** Give it to `POST api/locks/resolve` as `{ "id": ... }`. */
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
    /** Of processes that are listened to. */
    readonly runsPerSecond: number | undefined;
    readonly commitsPerSecond: number | undefined;
    readonly running: number | undefined;
    readonly claims: number | undefined;
    readonly memoryBytes: number | undefined;
  }[];
  readonly coordinator: { readonly address: string | undefined; readonly answers: boolean } | undefined;
  /** Processes or named dashboards that did not say what they have seen, and why. */
  readonly unheard?: readonly { readonly name: string; readonly error: string }[];
}

/** `GET api/heat?table=&metric=writes|conflicts|hints`: counts by key range (rows of the matrix) and time (its columns). */
export interface HeatMap {
  readonly reach: Reach;
  readonly table: string;
  readonly metric: "writes" | "conflicts" | "hints";
  /** First row of each range, as text; ranges adapt to what is written. */
  readonly ranges: readonly string[];
  readonly startsAt: number;
  readonly bucketMs: number;
  /** `counts[range][bucket]`. */
  readonly counts: readonly (readonly number[])[];
}

/** What is answered with any status that is not 2xx. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}
