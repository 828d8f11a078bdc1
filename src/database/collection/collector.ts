import { OneAtATime, type Timer, underSignals } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import {
  type CollectOptions,
  type CollectReport,
  collect,
  hintTable,
  type TransactionContext,
} from "../../transaction/index.js";
import { oldestPublished } from "./active-publisher.js";

const doing = "Garbage collection";

/**
 * Runs garbage collection, on request and at intervals in the background. Each database has one
 * collector.
 */
export class Collector {
  readonly #context: TransactionContext;
  readonly #tables: () => Promise<readonly string[]>;
  readonly #trim: (signal: AbortSignal | undefined) => Promise<void>;
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  readonly #passes = new OneAtATime();

  /**
   * `tables`: returns all tables with transactional cells. `trim`: removes what feeds no longer
   * keep. `everyMs`: the interval of background collection in milliseconds; 0 turns it off.
   */
  constructor(
    context: TransactionContext,
    tables: () => Promise<readonly string[]>,
    trim: (signal: AbortSignal | undefined) => Promise<void>,
    everyMs: number,
  ) {
    this.#context = context;
    this.#tables = tables;
    this.#trim = trim;
    this.#everyMs = everyMs;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#everyMs === 0) return;
    const { environment } = this.#context;
    // Jitter of 25 % keeps several processes from collecting at the same time.
    const delay = this.#everyMs * (0.75 + 0.5 * environment.random());
    this.#timer = environment.setTimer(() => void this.#inBackground(), delay, { background: true });
  }

  async #inBackground(): Promise<void> {
    const { environment, events, safepoint, settings } = this.#context;
    try {
      // If the safepoint is recent, another process has just collected, and little is left to
      // collect.
      const behindMs = environment.now() - settings.retentionMs - (await safepoint.current()) / 1_000;
      if (behindMs > this.#everyMs / 2) await this.collect({ signal: this.#stopping.signal });
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        events.emit("backgroundFailure", { doing: "garbage collection", error });
      }
    }
    if (!this.#stopping.signal.aborted) this.#schedule();
  }

  /** Collects now. Only one pass runs at a time. */
  collect(options: CollectOptions): Promise<CollectReport> {
    return underSignals([options.signal, this.#stopping.signal], (signal) =>
      this.#passes.run(() => this.#collect({ ...options, signal }), signal, doing),
    );
  }

  async #collect(options: CollectOptions): Promise<CollectReport> {
    const oldest = await oldestPublished(this.#context);
    const tables = (await this.#tables()).filter((table) => table !== hintTable);
    const report = await collect(this.#context, tables, oldest, options);
    await this.#trim(options.signal);
    return report;
  }

  /** Ends a running pass after its current page. Rejects the calls that wait for a pass. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#stopping.abort(new ClosedError("The database was closed during its garbage collection."));
    // The signal rejects all waiting calls, so this call waits only for the running pass.
    await this.#passes.run(async () => undefined, undefined, doing);
  }
}
