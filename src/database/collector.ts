import { OneAtATime, type Timer, underSignals } from "../environment/index.js";
import { ClosedError } from "../errors/index.js";
import {
  type CollectOptions,
  type CollectReport,
  collect,
  hintTable,
  type TransactionContext,
} from "../transaction/index.js";
import { oldestPublished } from "./active-publisher.js";

const doing = "Garbage collection";

/** Runs garbage collection: now, and in the background every now and then. */
export class Collector {
  readonly #context: TransactionContext;
  readonly #tables: () => Promise<readonly string[]>;
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  readonly #passes = new OneAtATime();

  /** `tables`: all tables with transactional cells. `everyMs`: 0 for never in the background. */
  constructor(context: TransactionContext, tables: () => Promise<readonly string[]>, everyMs: number) {
    this.#context = context;
    this.#tables = tables;
    this.#everyMs = everyMs;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#everyMs === 0) return;
    const { environment } = this.#context;
    // Spread, so that several processes do not collect at once.
    const delay = this.#everyMs * (0.75 + 0.5 * environment.random());
    this.#timer = environment.setTimer(() => void this.#inBackground(), delay, { background: true });
  }

  async #inBackground(): Promise<void> {
    const { environment, events, safepoint, settings } = this.#context;
    try {
      // Another process may have collected meanwhile: then there is little to find.
      const behindMs = environment.now() - settings.retentionMs - (await safepoint.current()) / 1_000;
      if (behindMs > this.#everyMs / 2) await this.collect({ signal: this.#stopping.signal });
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        events.emit("backgroundFailure", { doing: "garbage collection", error });
      }
    }
    if (!this.#stopping.signal.aborted) this.#schedule();
  }

  /** Collects now; one pass at a time. */
  collect(options: CollectOptions): Promise<CollectReport> {
    return underSignals([options.signal, this.#stopping.signal], (signal) =>
      this.#passes.run(() => this.#collect({ ...options, signal }), signal, doing),
    );
  }

  async #collect(options: CollectOptions): Promise<CollectReport> {
    const oldest = await oldestPublished(this.#context);
    const tables = (await this.#tables()).filter((table) => table !== hintTable);
    return collect(this.#context, tables, oldest, options);
  }

  /** Ends a pass under way between two pages, and those that wait for it at once. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#stopping.abort(new ClosedError("The database was closed while its garbage was collected."));
    // All that wait are refused by the signal: this waits for the pass under way.
    await this.#passes.run(async () => undefined, undefined, doing);
  }
}
