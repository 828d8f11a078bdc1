import type { Environment } from "../../environment/index.js";
import type { EventListener, EventMap, EventName } from "../../events/index.js";
import { pastLabel } from "../past/past.js";
import { ConflictCounts } from "./conflict-counts.js";
import { FlowCounts } from "./flow-counts.js";
import { HeatSamples } from "./heat-samples.js";
import { DurationWindow } from "./histogram.js";
import { KeptTransactions, transactionLists } from "./kept-transactions.js";
import type { HeatMetric, HeatSample, ObserverReport } from "./report.js";
import { seriesSeconds, windowMs } from "./report.js";
import { SlotCounts } from "./slot-counts.js";
import { nameOf, Winners } from "./winners.js";

/** A source of events: a `Database`. */
export interface Recorded {
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void;
}

/** A transaction that ended. */
export interface Remembered {
  /** Counted from 1. */
  readonly number: number;
  readonly endedAt: number;
  readonly event: EventMap["transaction"];
}

const maxObservers = 256;
const rateWindow = 16;

class ObserverCounts {
  readonly delay = new DurationWindow(windowMs);
  readonly runs = new SlotCounts(rateWindow);
  readonly failures = new SlotCounts(rateWindow);
  readonly conflicts = new SlotCounts(rateWindow);
}

/**
 * Listens to the events of one database, and keeps what a dashboard shows of the last minutes, in
 * bounded memory.
 */
export class Recorder {
  /** Unique among recorders. */
  readonly name: string;
  readonly since: number;
  readonly winners = new Winners();
  readonly #environment: Environment;
  readonly #unlisten: readonly (() => void)[];
  readonly #transactions = new KeptTransactions<Remembered>(
    ({ endedAt, event: { outcome, durationMs } }) => ({ endedAt, outcome, durationMs }),
    windowMs,
  );
  readonly #commits = new SlotCounts(seriesSeconds);
  readonly #conflicted = new SlotCounts(seriesSeconds);
  readonly #rollbacks = new SlotCounts(rateWindow);
  readonly #duration = new DurationWindow(windowMs);
  readonly #observers = new Map<string, ObserverCounts>();
  readonly #conflicts: ConflictCounts;
  readonly #flows: FlowCounts;
  readonly #heat: HeatSamples;
  #newest = 0;

  constructor(db: Recorded, environment: Environment) {
    this.#environment = environment;
    this.name = environment.uniqueId();
    this.since = environment.now();
    this.#conflicts = new ConflictCounts(this.winners, windowMs, this.since);
    this.#flows = new FlowCounts(this.since);
    this.#heat = new HeatSamples(environment);
    this.#unlisten = [
      db.on("transaction", (event) => this.#transaction(event)),
      db.on("run", (event) => this.#run(event)),
    ];
  }

  /** Stops listening. */
  close(): void {
    for (const unlisten of this.#unlisten) unlisten();
  }

  #transaction(event: EventMap["transaction"]): void {
    const now = this.#environment.now();
    const { outcome, cause, commitTimestamp, label } = event;
    if (label === pastLabel) return;
    this.winners.addTransaction(event);
    if (outcome === "committed") {
      // A run that found nothing to do is not worth showing.
      if (cause !== undefined && commitTimestamp === undefined) return;
      this.#duration.add(now, event.durationMs);
      if (commitTimestamp !== undefined) this.#committed(now, event);
    } else if (outcome === "conflict") this.#lost(now, event);
    else this.#rollbacks.add(now);
    this.#transactions.add({ number: ++this.#newest, endedAt: now, event });
  }

  #committed(now: number, event: EventMap["transaction"]): void {
    this.#commits.add(now);
    this.#flows.add(now, event);
    const { written, cells, hinted, hints } = event;
    this.#heat.add(now, "writes", written, Math.max(written.length, cells));
    this.#heat.add(now, "hints", hinted, hints);
  }

  #lost(now: number, event: EventMap["transaction"]): void {
    this.#conflicted.add(now);
    const cell = event.conflict?.cell;
    if (cell === undefined) return;
    this.#conflicts.add(now, cell, nameOf(event), event.conflict?.winnerTimestamp);
    this.#heat.add(now, "conflicts", [cell]);
  }

  #run({ observer, outcome, delayMs }: EventMap["run"]): void {
    const counts = this.#observer(observer);
    if (counts === undefined) return;
    const now = this.#environment.now();
    if (outcome === "committed") counts.runs.add(now);
    else if (outcome === "conflict") counts.conflicts.add(now);
    else if (outcome === "failed" || outcome === "timeout") counts.failures.add(now);
    if (delayMs !== undefined) counts.delay.add(now, delayMs);
  }

  #observer(name: string): ObserverCounts | undefined {
    let counts = this.#observers.get(name);
    if (counts === undefined && this.#observers.size < maxObservers) {
      counts = new ObserverCounts();
      this.#observers.set(name, counts);
    }
    return counts;
  }

  /** Number of the newest transaction. */
  get newest(): number {
    return this.#newest;
  }

  /**
   * The transactions with a larger number than `after`, oldest first. If there are more than `max`
   * of one list, only the newest of them, or the slowest.
   */
  transactions(after: number, max: number): readonly Remembered[] {
    const now = this.#environment.now();
    const chosen = transactionLists.flatMap((list) =>
      this.#transactions
        .list(list, now)
        .filter(({ number }) => number > after)
        .slice(0, max),
    );
    return [...new Set(chosen)].sort((a, b) => a.number - b.number);
  }

  conflicts(): ReturnType<ConflictCounts["list"]> {
    return this.#conflicts.list(this.#environment.now());
  }

  flows(): ReturnType<FlowCounts["list"]> {
    return this.#flows.list(this.#environment.now());
  }

  heat(table: string, metric: HeatMetric): readonly HeatSample[] {
    return this.#heat.list(this.#environment.now(), table, metric);
  }

  heatTotals(metric: HeatMetric): Readonly<Record<string, number>> {
    return this.#heat.totals(this.#environment.now(), metric);
  }

  figures() {
    const now = this.#environment.now();
    return {
      commits: this.#commits.series(now),
      conflicts: this.#conflicted.series(now),
      commitsPerSecond: this.#commits.rate(now),
      conflictsPerSecond: this.#conflicted.rate(now),
      rollbacksPerSecond: this.#rollbacks.rate(now),
      duration: this.#duration.histogram(now),
    };
  }

  observers(): Readonly<Record<string, ObserverReport>> {
    const now = this.#environment.now();
    const reports = [...this.#observers].map(([name, { delay, runs, failures, conflicts }]) => {
      const report: ObserverReport = {
        delay: delay.histogram(now),
        runsPerSecond: runs.rate(now),
        failuresPerSecond: failures.rate(now),
        conflictsPerSecond: conflicts.rate(now),
      };
      return [name, report] as const;
    });
    return Object.fromEntries(reports);
  }
}
