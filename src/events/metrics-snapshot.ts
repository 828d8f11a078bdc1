import type { Distribution } from "./distribution.js";
import type { EventMap, RequestKind } from "./events.js";

/**
 * Requests to a store and an oracle outside this process, before these join any of them. One-phase
 * commits on PostgreSQL are not among them. All counts are 0 if the store and the oracle are in this
 * process.
 */
export interface RequestMetrics extends Readonly<Record<RequestKind, number>> {
  readonly total: number;
  /**
   * Guarded mutations that needed no request of their own, because they joined another mutation of
   * the same row.
   */
  readonly joined: number;
  /**
   * All requests divided by commits. The requests include those of transactions that did not commit
   * and those of scans for work. 0 before the first commit.
   */
  readonly perTransaction: number;
}

/** Figures of one observer, since the database was opened in this process. */
export interface ObserverMetrics {
  readonly runs: Readonly<Record<EventMap["run"]["outcome"], number>>;
  /** Changes that committed runs were for. A batch, and a run of row observers, is for several. */
  readonly changes: number;
  /** Milliseconds that each run took. */
  readonly duration: Distribution;
  /** Milliseconds from the commit of a change to the commit of its run. */
  readonly delay: Distribution;
  /**
   * Numbers of cells. `hits` were prefetched and read. `wasted` were prefetched and never read.
   * `misses` had to be requested although their row had been read before.
   */
  readonly prefetch: { readonly hits: number; readonly misses: number; readonly wasted: number };
}

/** Figures since the database was opened in this process. */
export interface MetricsSnapshot {
  readonly commits: number;
  readonly cellsCommitted: number;
  readonly conflicts: number;
  readonly rollbacks: number;
  /** Milliseconds from the beginning of a transaction to its commit. */
  readonly transactionDuration: Distribution;
  /** Milliseconds that the commits took, from the call to the answer. */
  readonly commitDuration: Distribution;
  readonly hints: number;
  readonly locksResolved: Readonly<Record<EventMap["lockResolved"]["outcome"], number>>;
  readonly backgroundFailures: number;
  readonly collections: number;
  readonly versionsDropped: number;
  /** Cells that this process deleted because their `ttlMs` had passed. */
  readonly cellsExpired: number;
  readonly safepoint: number;
  readonly requests: RequestMetrics;
  /** Live queries that are open now. */
  readonly liveQueries: number;
  readonly liveRuns: Readonly<Record<EventMap["liveRun"]["outcome"], number>>;
  /** Milliseconds that each run of a live query took. */
  readonly liveRunDuration: Distribution;
  readonly observers: Readonly<Record<string, ObserverMetrics>>;
}
