import type { Distribution } from "./distribution.js";
import type { EventName } from "./events.js";
import type { MetricsSnapshot, ObserverMetrics } from "./metrics-snapshot.js";

/** One figure of a metric, with the labels that it belongs to. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Distribution;
}

/** One metric: its exported name, its description, and where a snapshot of the metrics holds it. */
export interface MetricDescription {
  /**
   * The name in Prometheus' style, without the prefix, but with the unit and `_total` if the kind
   * has them.
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

/** A metric with one sample for each entry of a record. */
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

/** A counter with one sample for each observer and each entry of a record of it. */
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

/** The exported name of each part of the metrics. A part without a name here does not compile. */
const byPart: { readonly [Part in keyof MetricsSnapshot]: readonly MetricDescription[] } = {
  commits: [
    single("counter", "commits_total", "Transactions that committed something.", ({ commits }) => commits),
  ],
  cellsCommitted: [
    single(
      "counter",
      "cells_committed_total",
      "Cells that they wrote or deleted.",
      ({ cellsCommitted }) => cellsCommitted,
    ),
  ],
  conflicts: [
    single(
      "counter",
      "conflicts_total",
      "Transactions that met another's write or lock and did not commit; each is run again until its retries end.",
      ({ conflicts }) => conflicts,
    ),
  ],
  rollbacks: [
    single(
      "counter",
      "rollbacks_total",
      "Transactions that were given up by their owner, or failed before their commit point.",
      ({ rollbacks }) => rollbacks,
    ),
  ],
  transactionDuration: [
    single(
      "histogram",
      "transaction_duration_seconds",
      "From the beginning of a transaction to its commit.",
      ({ transactionDuration }) => transactionDuration,
    ),
  ],
  commitDuration: [
    single(
      "histogram",
      "commit_duration_seconds",
      "The commit itself, from the call to the answer.",
      ({ commitDuration }) => commitDuration,
    ),
  ],
  hints: [
    single(
      "counter",
      "hints_total",
      "Hints that were committed: an observer and a cell that it is due for.",
      ({ hints }) => hints,
    ),
  ],
  locksResolved: [
    each(
      "locks_resolved_total",
      "outcome",
      "Locks of others that stood in the way: rolled forward or back, pushed, or waited for.",
      ({ locksResolved }) => locksResolved,
    ),
  ],
  backgroundFailures: [
    single(
      "counter",
      "background_failures_total",
      "Failures of what nobody waits for; it is done again.",
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
      "Versions that they dropped.",
      (metrics) => metrics.versionsDropped,
    ),
  ],
  safepoint: [
    single(
      "gauge",
      "safepoint",
      "Timestamp of the last collection of this process; 0 before the first.",
      ({ safepoint }) => safepoint,
    ),
  ],
  requests: [
    each(
      "requests_total",
      "kind",
      "Requests to a store that is not in this process, and to its oracle.",
      ({ requests: { total: _, joined: __, perTransaction: ___, ...kinds } }) => kinds,
    ),
    single(
      "counter",
      "mutations_joined_total",
      "Guarded mutations that went with another one of their row.",
      ({ requests }) => requests.joined,
    ),
  ],
  observers: [
    eachOfObservers(
      "runs_total",
      "outcome",
      "Runs of observers: committed, clean (nothing was due), conflict, failed, timeout, parked.",
      ({ runs }) => runs,
    ),
    ofObservers("run_duration_seconds", "How long runs took.", ({ duration }) => duration),
    ofObservers(
      "run_delay_seconds",
      "Freshness: from the commit of a change to the commit of its run.",
      ({ delay }) => delay,
    ),
    eachOfObservers(
      "prefetch_cells_total",
      "outcome",
      "Cells fetched ahead: read (hits), asked for again (misses), never read (wasted).",
      ({ prefetch }) => prefetch,
    ),
  ],
};

/** Every metric that a process exports about itself, with its exported name. */
export const metricCatalogue: readonly MetricDescription[] = Object.values(byPart).flat();

/** The description of each event. An event without one here does not compile. */
export const eventCatalogue: Readonly<Record<EventName, string>> = {
  commit: "A transaction committed.",
  conflict: "A transaction met another's write or lock, and was not committed.",
  rollback: "A transaction was given up by its owner, or failed before its commit point.",
  transaction:
    "A transaction ended: with what it read, waited for and wrote, and when. Taken down only while somebody listens.",
  lockResolved: "A lock of another transaction stood in the way, and was dealt with.",
  backgroundFailure: "A step of work that nobody waits for failed; it is done again by whoever meets it.",
  hints: "Cells on which observers are due were committed by this process.",
  run: "An observer's run ended.",
  request: "Something was asked of a store that is not in this process, or of its oracle.",
  joined: "Guarded mutations of one row went as one.",
  prefetch: "A run ended that had cells fetched ahead.",
  collect: "A pass of garbage collection ended.",
};
