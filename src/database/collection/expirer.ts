import { OneAtATime, type Timer, underSignals } from "../../environment/index.js";
import { ClosedError } from "../../errors/index.js";
import { type ExpireOptions, expire } from "../../evolution/index.js";
import type { Registry } from "../../observer/index.js";

const doing = "The sweep for expired cells";

/**
 * Deletes expired cells (`ttlMs` of `table`), on request and at intervals in the background. Each
 * database has one.
 */
export class Expirer {
  readonly #registry: Registry;
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  readonly #sweeps = new OneAtATime();
  #timer: Timer | undefined;

  /** `everyMs`: how often to look whether a table is due, in milliseconds; 0 turns it off. */
  constructor(registry: Registry, everyMs: number) {
    this.#registry = registry;
    this.#everyMs = everyMs;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#everyMs === 0) return;
    const { environment } = this.#registry.context;
    // Jitter of 25 % keeps several processes from claiming a table at the same time.
    const delay = this.#everyMs * (0.75 + 0.5 * environment.random());
    this.#timer = environment.setTimer(() => void this.#inBackground(), delay, { background: true });
  }

  async #inBackground(): Promise<void> {
    try {
      await this.expire({ isDueOnly: true });
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        this.#registry.context.events.emit("backgroundFailure", { doing: "deleting expired cells", error });
      }
    }
    if (!this.#stopping.signal.aborted) this.#schedule();
  }

  /** Sweeps now. Returns the number of deleted cells. */
  expire(options: ExpireOptions): Promise<number> {
    return underSignals([options.signal, this.#stopping.signal], (signal) =>
      this.#sweeps.run(() => expire(this.#registry, { ...options, signal }), signal, doing),
    );
  }

  /** Ends a running sweep after its current page. Rejects the calls that wait for one. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#stopping.abort(new ClosedError("The database was closed during its sweep for expired cells."));
    await this.#sweeps.run(async () => undefined, undefined, doing);
  }
}
