import { SampledDistribution } from "./distribution.js";
import type { Emitter } from "./emitter.js";
import type { EventMap, RequestKind } from "./events.js";
import type { MetricsSnapshot, ObserverMetrics, RequestMetrics } from "./metrics-snapshot.js";

class ObserverCounts {
  readonly runs = { committed: 0, clean: 0, conflict: 0, failed: 0, timeout: 0, parked: 0 };
  readonly duration = new SampledDistribution();
  readonly delay = new SampledDistribution();
  readonly prefetch = { hits: 0, misses: 0, wasted: 0 };
  changes = 0;
}

/** Keeps counters and distributions. Events are their only source. */
export class Metrics {
  readonly #counts = { commits: 0, cellsCommitted: 0, conflicts: 0, rollbacks: 0, hints: 0 };
  readonly #rare = {
    backgroundFailures: 0,
    collections: 0,
    versionsDropped: 0,
    cellsExpired: 0,
    safepoint: 0,
  };
  readonly #locks = { "rolled-forward": 0, "rolled-back": 0, pushed: 0, waited: 0 };
  readonly #requests: Record<RequestKind, number> = {
    read: 0,
    scan: 0,
    conditionalMutation: 0,
    plainMutation: 0,
    timestamp: 0,
  };
  #joined = 0;
  #liveQueries = 0;
  readonly #liveRuns = { delivered: 0, unchanged: 0, failed: 0 };
  readonly #liveRunDuration = new SampledDistribution();
  readonly #transactionDuration = new SampledDistribution();
  readonly #commitDuration = new SampledDistribution();
  readonly #observers = new Map<string, ObserverCounts>();

  constructor(events: Emitter) {
    const counts = this.#counts;
    const rare = this.#rare;
    events.on("commit", (event) => {
      counts.commits++;
      counts.cellsCommitted += event.cells;
      this.#transactionDuration.add(event.durationMs);
      this.#commitDuration.add(event.commitMs);
    });
    events.on("conflict", () => counts.conflicts++);
    events.on("rollback", () => counts.rollbacks++);
    events.on("hints", (event) => {
      counts.hints += event.count;
    });
    events.on("lockResolved", (event) => this.#locks[event.outcome]++);
    events.on("backgroundFailure", () => rare.backgroundFailures++);
    events.on("collect", (event) => {
      rare.collections++;
      rare.versionsDropped += event.versionsDropped;
      rare.safepoint = event.safepoint;
    });
    events.on("expire", (event) => {
      rare.cellsExpired += event.cellsExpired;
    });
    events.on("request", ({ kind }) => this.#requests[kind]++);
    events.on("joined", ({ mutations }) => {
      this.#joined += mutations - 1;
    });
    events.on("prefetch", ({ observer, hits, misses, wasted }) => {
      const { prefetch } = this.#observer(observer);
      prefetch.hits += hits;
      prefetch.misses += misses;
      prefetch.wasted += wasted;
    });
    events.on("liveQuery", ({ open }) => {
      this.#liveQueries = open;
    });
    events.on("liveRun", ({ outcome, durationMs }) => {
      this.#liveRuns[outcome]++;
      this.#liveRunDuration.add(durationMs);
    });
    events.on("run", (event) => this.#countRun(event));
  }

  #observer(name: string): ObserverCounts {
    let counts = this.#observers.get(name);
    if (counts === undefined) {
      counts = new ObserverCounts();
      this.#observers.set(name, counts);
    }
    return counts;
  }

  #countRun(event: EventMap["run"]): void {
    const counts = this.#observer(event.observer);
    counts.runs[event.outcome]++;
    if (event.outcome === "committed") counts.changes += event.changes;
    // The run after which a change is parked has already been told as failed.
    if (event.outcome !== "parked") counts.duration.add(event.durationMs);
    if (event.delayMs !== undefined) counts.delay.add(event.delayMs);
  }

  /** The current figures. */
  snapshot(): MetricsSnapshot {
    const observers: Record<string, ObserverMetrics> = {};
    for (const [name, counts] of this.#observers) {
      const { runs, changes, duration, delay, prefetch } = counts;
      observers[name] = {
        runs: { ...runs },
        changes,
        duration: duration.distribution(),
        delay: delay.distribution(),
        prefetch: { ...prefetch },
      };
    }
    const locksResolved = { ...this.#locks };
    return {
      ...this.#counts,
      ...this.#rare,
      transactionDuration: this.#transactionDuration.distribution(),
      commitDuration: this.#commitDuration.distribution(),
      locksResolved,
      requests: this.#countedRequests(),
      liveQueries: this.#liveQueries,
      liveRuns: { ...this.#liveRuns },
      liveRunDuration: this.#liveRunDuration.distribution(),
      observers,
    };
  }

  #countedRequests(): RequestMetrics {
    const total = Object.values(this.#requests).reduce((sum, count) => sum + count, 0);
    const { commits } = this.#counts;
    const perTransaction = commits === 0 ? 0 : total / commits;
    return { ...this.#requests, total, joined: this.#joined, perTransaction };
  }
}
