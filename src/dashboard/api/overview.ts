import type { CoordinatorShown, Count, Durations, Reach, Series } from "./shared.js";

/** `GET api/overview`, and event `overview` of `GET api/stream`, once a second. */
export interface Overview extends Rates {
  readonly now: number;
  readonly reach: Reach;
  readonly observers: readonly ObserverOverview[];
  readonly schedules: readonly ScheduleOverview[];
  /** The attached SQL tables of a database on PostgreSQL. */
  readonly attached: readonly AttachedOverview[];
  /** Which privilege the server's role lacks to read them. Undefined if it lacks none. */
  readonly attachedDenied: string | undefined;
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

/** What transactions do: rates of the last seconds, and counts of the last five minutes. */
export interface Rates {
  readonly commitsPerSecond: number;
  readonly conflictsPerSecond: number;
  readonly rollbacksPerSecond: number;
  readonly commits: Series;
  readonly conflicts: Series;
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
  /** How many of the pending changes have failed and are tried again. */
  readonly retrying: Count;
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

/** An attached SQL table, with the changes that no worker has moved yet. */
export interface AttachedOverview {
  /** The SQL table, quoted. */
  readonly source: string;
  /** The table that its rows are moved to. */
  readonly name: string;
  /** Why observers see none of its changes. Undefined if they do. */
  readonly problem: string | undefined;
  /** When it was parked. Undefined if it is not. */
  readonly problemSince: number | undefined;
  readonly copy: {
    /** `copy`: rows are copied. `prune`: rows are deleted that SQL no longer has. */
    readonly phase: "copy" | "prune" | "done";
    readonly rows: number;
    /** The server's estimate of all rows. Undefined if it has none. */
    readonly estimatedRows: number | undefined;
  };
  readonly pending: Count;
  readonly oldestPendingMs: number | undefined;
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
