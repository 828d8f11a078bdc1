import type { Emitter } from "./emitter.js";
import type { EventMap } from "./events.js";

/** A distribution: how many, their sum, and percentiles of the newest samples. */
export interface Distribution {
  readonly count: number;
  readonly sum: number;
  readonly maximum: number;
  readonly p50: number;
  readonly p99: number;
}

/** Figures of one observer, since the database was opened in this process. */
export interface ObserverMetrics {
  readonly runs: Readonly<Record<EventMap["run"]["outcome"], number>>;
  /** Milliseconds that a run took. */
  readonly duration: Distribution;
  /** Milliseconds from the commit of a change to the commit of its run. */
  readonly delay: Distribution;
}

/** Figures since the database was opened in this process. */
export interface MetricsSnapshot {
  readonly commits: number;
  readonly cellsCommitted: number;
  readonly conflicts: number;
  readonly rollbacks: number;
  readonly hints: number;
  readonly locksResolved: Readonly<Record<EventMap["lockResolved"]["outcome"], number>>;
  readonly backgroundFailures: number;
  readonly collections: number;
  readonly versionsDropped: number;
  readonly safepoint: number;
  readonly observers: Readonly<Record<string, ObserverMetrics>>;
}

const samplesKept = 1_024;

class Sampled {
  readonly #samples = new Float64Array(samplesKept);
  #count = 0;
  #sum = 0;
  #maximum = 0;

  add(value: number): void {
    this.#samples[this.#count % samplesKept] = value;
    this.#count++;
    this.#sum += value;
    if (value > this.#maximum) this.#maximum = value;
  }

  distribution(): Distribution {
    const kept = this.#samples.slice(0, Math.min(this.#count, samplesKept)).sort();
    const at = (share: number) => kept[Math.min(kept.length - 1, Math.floor(kept.length * share))] ?? 0;
    return { count: this.#count, sum: this.#sum, maximum: this.#maximum, p50: at(0.5), p99: at(0.99) };
  }
}

class ObserverCounts {
  readonly runs = { committed: 0, clean: 0, conflict: 0, failed: 0, timeout: 0, parked: 0 };
  readonly duration = new Sampled();
  readonly delay = new Sampled();
}

/** Counters and distributions, made from the events and from nothing else. */
export class Metrics {
  readonly #counts = { commits: 0, cellsCommitted: 0, conflicts: 0, rollbacks: 0, hints: 0 };
  readonly #rare = { backgroundFailures: 0, collections: 0, versionsDropped: 0, safepoint: 0 };
  readonly #locks = { "rolled-forward": 0, "rolled-back": 0, pushed: 0, waited: 0 };
  readonly #observers = new Map<string, ObserverCounts>();

  constructor(events: Emitter) {
    const counts = this.#counts;
    const rare = this.#rare;
    events.on("commit", (event) => {
      counts.commits++;
      counts.cellsCommitted += event.cells;
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
    events.on("run", (event) => this.#countRun(event));
  }

  #countRun(event: EventMap["run"]): void {
    let counts = this.#observers.get(event.observer);
    if (counts === undefined) {
      counts = new ObserverCounts();
      this.#observers.set(event.observer, counts);
    }
    counts.runs[event.outcome]++;
    counts.duration.add(event.durationMs);
    if (event.delayMs !== undefined) counts.delay.add(event.delayMs);
  }

  /** The figures of this moment. */
  snapshot(): MetricsSnapshot {
    const observers: Record<string, ObserverMetrics> = {};
    for (const [name, counts] of this.#observers) {
      const { runs, duration, delay } = counts;
      observers[name] = { runs: { ...runs }, duration: duration.distribution(), delay: delay.distribution() };
    }
    return { ...this.#counts, ...this.#rare, locksResolved: { ...this.#locks }, observers };
  }
}
