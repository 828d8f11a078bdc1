import type { Distribution } from "./distribution.js";
import type { EventMap, RequestKind } from "./events.js";

/** Requests to a store that is not in this process, and to its oracle; none where both are. */
export interface RequestMetrics extends Readonly<Record<RequestKind, number>> {
  readonly total: number;
  /**
   * Guarded mutations that needed no request of their own, since they went with another one of
   * their row.
   */
  readonly joined: number;
  /**
   * All requests for each commit: of transactions that did not commit, and of looking for work,
   * too. 0 before the first.
   */
  readonly perTransaction: number;
}

/** Figures of one observer, since the database was opened in this process. */
export interface ObserverMetrics {
  readonly runs: Readonly<Record<EventMap["run"]["outcome"], number>>;
  /** Milliseconds that a run took. */
  readonly duration: Distribution;
  /** Milliseconds from the commit of a change to the commit of its run. */
  readonly delay: Distribution;
  /**
   * Cells that were fetched ahead and read, were asked for once more, or were fetched for nothing.
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
  readonly safepoint: number;
  readonly requests: RequestMetrics;
  readonly observers: Readonly<Record<string, ObserverMetrics>>;
}
