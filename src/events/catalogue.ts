import type { Distribution } from "./distribution.js";
import type { EventName } from "./events.js";
import type { MetricsSnapshot, ObserverMetrics } from "./metrics-snapshot.js";

/** One figure of a metric, with the labels that it belongs to. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Distribution;
}

/**
 * One metric: its exported name, its description, and a function that reads it from a snapshot of
 * the metrics.
 */
export interface MetricDescription {
  /**
   * The name in Prometheus' style, without the prefix. It includes the unit and `_total`, if the
   * metric has them.
   */
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly about: string;
  /** Names of the labels of its samples. */
  readonly labels: readonly string[];
  readonly read: (metrics: MetricsSnapshot) => readonly MetricSample[];
}

/** A metric without labels. */
function single(
  kind: MetricDescription["kind"],
  name: string,
  about: string,
  read: (metrics: MetricsSnapshot) => number | Distribution,
): MetricDescription {
  return { kind, name, about, labels: [], read: (metrics) => [{ labels: {}, value: read(metrics) }] };
}

/** A counter whose figures `read` returns by name, with one sample for each name. */
function each(
  name: string,
  label: string,
  about: string,
  read: (metrics: MetricsSnapshot) => Readonly<Record<string, number>>,
): MetricDescription {
  const samples = (metrics: MetricsSnapshot) =>
    Object.entries(read(metrics)).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { kind: "counter", name, about, labels: [label], read: samples };
}

/** A metric with one sample for each observer. */
function ofObservers(
  name: string,
  about: string,
  read: (observer: ObserverMetrics) => Distribution,
): MetricDescription {
  const samples = ({ observers }: MetricsSnapshot) =>
    Object.entries(observers).map(([observer, figures]) => ({ labels: { observer }, value: read(figures) }));
  return { kind: "histogram", name, about, labels: ["observer"], read: samples };
}

/** A counter whose figures `read` returns by name, with one sample per observer and name. */
function eachOfObservers(
  name: string,
  label: string,
  about: string,
  read: (observer: ObserverMetrics) => Readonly<Record<string, number>>,
): MetricDescription {
  const samples = ({ observers }: MetricsSnapshot) =>
    Object.entries(observers).flatMap(([observer, figures]) =>
      Object.entries(read(figures)).map(([key, value]) => ({ labels: { observer, [label]: key }, value })),
    );
  return { kind: "counter", name, about, labels: ["observer", label], read: samples };
}

/**
 * The metrics that each part of a snapshot is exported as. The compiler reports a part that is
 * missing here.
 */
const byPart: { readonly [Part in keyof MetricsSnapshot]: readonly MetricDescription[] } = {
  commits: [
    single(
      "counter",
      "commits_total",
      "Transactions that committed at least one write or notification.",
      ({ commits }) => commits,
    ),
  ],
  cellsCommitted: [
    single(
      "counter",
      "cells_committed_total",
      "Cells that these transactions wrote or deleted.",
      ({ cellsCommitted }) => cellsCommitted,
    ),
  ],
  conflicts: [
    single(
      "counter",
      "conflicts_total",
      "Transactions that did not commit because of another transaction's write or lock. Each runs again until its retries end.",
      ({ conflicts }) => conflicts,
    ),
  ],
  rollbacks: [
    single(
      "counter",
      "rollbacks_total",
      "Transactions that their owner rolled back, or that failed before their commit point.",
      ({ rollbacks }) => rollbacks,
    ),
  ],
  transactionDuration: [
    single(
      "histogram",
      "transaction_duration_seconds",
      "Time from the beginning of a transaction to its commit.",
      ({ transactionDuration }) => transactionDuration,
    ),
  ],
  commitDuration: [
    single(
      "histogram",
      "commit_duration_seconds",
      "Time of the commit itself, from the call to the answer.",
      ({ commitDuration }) => commitDuration,
    ),
  ],
  hints: [
    single(
      "counter",
      "hints_total",
      "Committed hints. Each names an observer and a cell that it is due on.",
      ({ hints }) => hints,
    ),
  ],
  locksResolved: [
    each(
      "locks_resolved_total",
      "outcome",
      "Locks of other transactions that were met: rolled forward or back, pushed, or waited for.",
      ({ locksResolved }) => locksResolved,
    ),
  ],
  backgroundFailures: [
    single(
      "counter",
      "background_failures_total",
      "Failures of background work, which is tried again.",
      ({ backgroundFailures }) => backgroundFailures,
    ),
  ],
  collections: [
    single(
      "counter",
      "collections_total",
      "Passes of garbage collection by this process.",
      ({ collections }) => collections,
    ),
  ],
  versionsDropped: [
    single(
      "counter",
      "versions_dropped_total",
      "Versions that these passes dropped.",
      (metrics) => metrics.versionsDropped,
    ),
  ],
  cellsExpired: [
    single(
      "counter",
      "cells_expired_total",
      "Cells that this process deleted because their `ttlMs` had passed.",
      (metrics) => metrics.cellsExpired,
    ),
  ],
  safepoint: [
    single(
      "gauge",
      "safepoint",
      "Timestamp up to which this process last collected garbage; 0 before its first pass.",
      ({ safepoint }) => safepoint,
    ),
  ],
  requests: [
    each(
      "requests_total",
      "kind",
      "Requests to a store outside this process, and timestamps asked of its oracle. The store and the oracle may join several. One-phase commits on PostgreSQL are not counted here, but in its statistics.",
      ({ requests: { total: _, joined: __, perTransaction: ___, ...kinds } }) => kinds,
    ),
    single(
      "counter",
      "mutations_joined_total",
      "Guarded mutations that were sent together with another one of the same row.",
      ({ requests }) => requests.joined,
    ),
  ],
  liveQueries: [
    single("gauge", "live_queries", "Open live queries of this process.", ({ liveQueries }) => liveQueries),
  ],
  liveRuns: [
    each(
      "live_runs_total",
      "outcome",
      "Runs of live queries: delivered, unchanged (the value was left out), failed.",
      ({ liveRuns }) => liveRuns,
    ),
  ],
  liveRunDuration: [
    single(
      "histogram",
      "live_run_duration_seconds",
      "Duration of runs of live queries.",
      ({ liveRunDuration }) => liveRunDuration,
    ),
  ],
  observers: [
    eachOfObservers(
      "runs_total",
      "outcome",
      "Runs of observers: committed, clean (nothing was due), conflict, failed, timeout, parked. The last run before a change is parked counts by its own outcome too: failed, timeout or conflict. A change whose runs cause each other without end, or that ends processes, counts only as parked.",
      ({ runs }) => runs,
    ),
    {
      kind: "counter",
      name: "run_changes_total",
      about:
        "Changes that committed runs were for: a run of a batch observer, or of row observers, is for several.",
      labels: ["observer"],
      read: ({ observers }) =>
        Object.entries(observers).map(([observer, { changes }]) => ({
          labels: { observer },
          value: changes,
        })),
    },
    ofObservers("run_duration_seconds", "Duration of runs.", ({ duration }) => duration),
    ofObservers(
      "run_delay_seconds",
      "Freshness: from the commit of a change to the commit of its run.",
      ({ delay }) => delay,
    ),
    eachOfObservers(
      "prefetch_cells_total",
      "outcome",
      "Cells in runs that prefetch: prefetched and read (hits), requested later than the others of their row (misses), prefetched and never read (wasted).",
      ({ prefetch }) => prefetch,
    ),
  ],
};

/** Every metric that a process exports about itself, with its exported name. */
export const metricCatalogue: readonly MetricDescription[] = Object.values(byPart).flat();

/** The description of each event. The compiler reports an event that is missing here. */
export const eventCatalogue: Readonly<Record<EventName, string>> = {
  commit: "A transaction committed that had written or notified something. One that only read has no event.",
  conflict: "A transaction did not commit because of another transaction's write or lock.",
  rollback: "A transaction was rolled back by its owner, or failed before its commit point.",
  transaction:
    "A transaction ended: what it read, waited for and wrote, and when. Recorded only while the event has listeners.",
  lockResolved: "A transaction met a lock of another one and resolved it, or waited for it.",
  backgroundFailure: "A step of background work failed. This process or another one tries it again.",
  hints: "This process committed cells on which observers are due.",
  run: "An observer's run ended.",
  liveQuery: "This process opened or closed a live query.",
  liveRun: "A live query ran.",
  request:
    "This process sent a request to a store outside it, or asked its oracle for a timestamp. One-phase commits on PostgreSQL have no event.",
  joined: "Guarded mutations of one row were sent as one.",
  prefetch: "A run for which cells were prefetched ended.",
  collect: "A pass of garbage collection ended.",
  expire: "A sweep of a table for expired cells (`ttlMs`) ended.",
};
