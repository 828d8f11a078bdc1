import type { Database, Worker } from "percolatordb";
import { observers } from "./observers/index.js";
import { countWaiting, noPressure, type Pressure, pressureOf } from "./pressure.js";

/**
 * What no changed page waits for to be found: in which rounds it is worked on, and for how long at
 * the most.
 */
export const later = [
  { name: "relink", everyRounds: 1, ms: 100 },
  // The longer it waits the more pages it takes together; a search looks at all that wait.
  { name: "merge", everyRounds: 5, ms: 200 },
] as const;
/** Between two rounds. */
export const restMs = 900;
const looksOfRest = 9;
/** Its runs at the same time in a round; the maximum if something waits for it. */
const roundWidth = 4;
const names: readonly string[] = later.map(({ name }) => name);
/** While more pages come than are worked on there is no round, but for one after so many rests. */
const maxSkipped = 10;

export interface IndexWorkOptions {
  /** Observers that run at the same time. */
  readonly concurrency: number;
  /** Told why a round failed. What is due stays so, and is tried in a later one. */
  readonly onError: (error: unknown) => void;
}

export interface IdleOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: { readonly waiting: number }) => void) | undefined;
}

/**
 * Runs the observers of an index: those on the way of a changed page at once; what its links cause
 * elsewhere, and merging, in rounds with rests between them. So pages do not wait for it, and the
 * common effects of many pages are done once. A caller that waits for everything, by {@link
 * IndexWork.idle}, has it done without rests.
 */
export class IndexWork {
  readonly #db: Database;
  readonly #concurrency: number;
  readonly #onError: (error: unknown) => void;
  readonly #first: Worker;
  readonly #stopping = new AbortController();
  readonly #rounds: Promise<void>;
  /** By observer, as of its last round. */
  readonly #pressures = new Map<string, Pressure>();
  /** While it is waited for: a worker that rests not, and how many wait. */
  #unresting: { readonly worker: Worker; users: number } | undefined;

  constructor(db: Database, { concurrency, onError }: IndexWorkOptions) {
    this.#db = db;
    this.#concurrency = concurrency;
    this.#onError = onError;
    const first = observers.map(({ name }) => name).filter((name) => !names.includes(name));
    this.#first = db.work({ observers: first, concurrency });
    this.#rounds = this.#goRounds();
  }

  /** Resolves when nothing is due. */
  async idle(options: IdleOptions = {}): Promise<void> {
    // What pages cause elsewhere is done once for all that are on their way.
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
   * Answers whether many pages were on their way at any look: a load that is as fast as can be has
   * its pauses, too.
   */
  async #rest(signal: AbortSignal): Promise<boolean> {
    let wasBehind = false;
    for (let look = 0; look < looksOfRest; look++) {
      await pause(restMs / looksOfRest, signal);
      wasBehind ||= this.#isBehind;
    }
    return wasBehind;
  }

  /** Whether many pages are on their way: what they cause is then better done for all of them. */
  get #isBehind(): boolean {
    return this.#first.running >= this.#concurrency / 2;
  }

  /**
   * First the links, as they have more merged. Neither may keep the other from being done: each has
   * its time, and may fail.
   */
  async #goRound(round: number, signal: AbortSignal): Promise<void> {
    for (const { name, everyRounds, ms } of later) {
      if (signal.aborted || round % everyRounds !== 0) continue;
      // What fails is due as before, and is tried in a later round.
      await this.#workOn(name, ms, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#onError(error);
      });
    }
  }

  async #workOn(name: string, ms: number, signal: AbortSignal): Promise<void> {
    const waiting = await countWaiting(this.#db, name, signal);
    const pressure = pressureOf(waiting, this.#pressures.get(name) ?? noPressure);
    this.#pressures.set(name, pressure);
    if (waiting === 0) return;
    await using worker = this.#db.work({ observers: [name], concurrency: roundWidth });
    await this.#idleWithin(worker, ms * pressure.longer, signal);
  }

  /**
   * Not by `AbortSignal.any` of a timeout: Node 20 collects it before its time is over, and the
   * round would not end.
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
