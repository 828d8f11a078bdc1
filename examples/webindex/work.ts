import type { Database, Worker } from "percolatordb";
import { observers } from "./observers/index.js";
import { countWaiting, noPressure, type Pressure, pressureOf } from "./pressure.js";

/**
 * The observers that need not run before a changed page can be found. Each runs in every
 * `everyRounds`th round for up to `ms` milliseconds, or longer while its backlog grows, with up to
 * `width` concurrent runs. While a caller waits in {@link IndexWork.idle}, the limit is
 * {@link IndexWorkOptions.concurrency} instead.
 */
export const later = [
  { name: "relink", everyRounds: 1, ms: 100, width: 4 },
  // If merges are rare, each one handles many pages. But every search must read all waiting pages. A run
  // computes for a long time, so one at a time leaves more turns to pages.
  { name: "merge", everyRounds: 5, ms: 200, width: 1 },
] as const;
/** The time between two rounds. */
export const restMs = 900;
const looksOfRest = 9;
const names: readonly string[] = later.map(({ name }) => name);
/** The most successive rounds that are skipped while pages arrive faster than they are handled. */
const maxSkipped = 10;

export interface IndexWorkOptions {
  /** How many observers run concurrently. */
  readonly concurrency: number;
  /**
   * With this many running observers, many pages are being handled. Default: half of
   * `concurrency`.
   */
  readonly behindAt?: number | undefined;
  /**
   * Receives the error of a failed round. The due work stays due, and a later round tries it again.
   */
  readonly onError: (error: unknown) => void;
}

export interface IdleOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: { readonly waiting: number }) => void) | undefined;
}

/**
 * Runs the observers of an index. Observers that make a changed page findable run at once. The
 * observers in {@link later} run in rounds with rests between them. So no changed page waits for
 * these, and one run of them handles the effects of many pages. While a caller waits in
 * {@link IndexWork.idle}, they run without rests.
 */
export class IndexWork {
  readonly #db: Database;
  readonly #concurrency: number;
  readonly #behindAt: number;
  readonly #onError: (error: unknown) => void;
  readonly #first: Worker;
  readonly #stopping = new AbortController();
  readonly #rounds: Promise<void>;
  /** By observer, as of its last round. */
  readonly #pressures = new Map<string, Pressure>();
  /** While callers wait: a worker that does not rest, and the number of callers. */
  #unresting: { readonly worker: Worker; users: number } | undefined;

  constructor(db: Database, { concurrency, behindAt = concurrency / 2, onError }: IndexWorkOptions) {
    this.#db = db;
    this.#concurrency = concurrency;
    this.#behindAt = behindAt;
    this.#onError = onError;
    const first = observers.map(({ name }) => name).filter((name) => !names.includes(name));
    this.#first = db.work({ observers: first, concurrency });
    this.#rounds = this.#goRounds();
  }

  /** Resolves when nothing is due. */
  async idle(options: IdleOptions = {}): Promise<void> {
    // Finishes the pages themselves first, so that later runs handle the effects of all of them.
    await this.#first.idle(options);
    this.#unresting ??= {
      worker: this.#db.work({ observers: names, concurrency: this.#concurrency }),
      users: 0,
    };
    const unresting = this.#unresting;
    unresting.users++;
    try {
      await unresting.worker.idle(options);
    } finally {
      if (--unresting.users === 0) {
        this.#unresting = undefined;
        await unresting.worker.stop();
      }
    }
  }

  async #goRounds(): Promise<void> {
    const { signal } = this.#stopping;
    let round = 0;
    for (let skipped = 0; !signal.aborted; ) {
      const wasBehind = await this.#rest(signal);
      if (signal.aborted || this.#unresting !== undefined) continue;
      if (wasBehind && ++skipped <= maxSkipped) continue;
      skipped = 0;
      await this.#goRound(round++, signal);
    }
  }

  /**
   * Waits, and meanwhile checks repeatedly whether many pages are being handled. Returns whether
   * they were at any check. One check would not be enough, because even the fastest load has
   * pauses.
   */
  async #rest(signal: AbortSignal): Promise<boolean> {
    let wasBehind = false;
    for (let look = 0; look < looksOfRest; look++) {
      await pause(restMs / looksOfRest, signal);
      wasBehind ||= this.#isBehind;
    }
    return wasBehind;
  }

  /** Whether many pages are being handled, so that one later round should handle their effects. */
  get #isBehind(): boolean {
    return this.#first.running >= this.#behindAt;
  }

  /**
   * Runs the observer of links first, because links cause further merges. Each observer has its own
   * time limit, and its failure does not end the round. So neither observer blocks the other one.
   */
  async #goRound(round: number, signal: AbortSignal): Promise<void> {
    for (const { name, everyRounds, ms, width } of later) {
      if (signal.aborted || round % everyRounds !== 0) continue;
      // Failed work stays due, and a later round tries it again.
      await this.#workOn(name, ms, width, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#onError(error);
      });
    }
  }

  async #workOn(name: string, ms: number, width: number, signal: AbortSignal): Promise<void> {
    const waiting = await countWaiting(this.#db, name, signal);
    const pressure = pressureOf(waiting, this.#pressures.get(name) ?? noPressure);
    this.#pressures.set(name, pressure);
    if (waiting === 0) return;
    await using worker = this.#db.work({ observers: [name], concurrency: width });
    await this.#idleWithin(worker, ms * pressure.longer, signal);
  }

  /**
   * Does not use `AbortSignal.any` with a timeout: Node 20 garbage-collects the timeout early, and
   * the round would not end.
   */
  async #idleWithin(worker: Worker, ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const end = () => over.abort();
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    try {
      await worker.idle({ signal: over.signal });
    } catch (error) {
      if (!over.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds;
    await this.#first.stop();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
