import type { Environment } from "../environment/index.js";

/** However short the retention, a transaction has so much time, in milliseconds: a slow machine may need it. */
const minHeldMs = 5_000;

/** For how long a transaction or snapshot holds collection back: for the retention. Collection then goes on without it. */
export function heldMs(retentionMs: number): number {
  return Math.max(retentionMs, minHeldMs);
}

interface Registered {
  count: number;
  /** Of the newest registration, in milliseconds of monotonic time. */
  registeredAt: number;
}

/**
 * The transactions and snapshots of this process that still read, by start timestamp: what collection in this
 * process must not take from under them, and what the process publishes for the others.
 */
export class ActiveTransactions {
  readonly #environment: Pick<Environment, "monotonic">;
  readonly #starts = new Map<number, Registered>();

  constructor(environment: Pick<Environment, "monotonic">) {
    this.#environment = environment;
  }

  /** Registers a start timestamp, or a floor below it, until the returned function is called. */
  register(timestamp: number): () => void {
    // The timestamp does not tell when it was taken: a store that counts by itself gives that of its last commit.
    const registeredAt = this.#environment.monotonic();
    const found = this.#starts.get(timestamp);
    if (found === undefined) {
      this.#starts.set(timestamp, { count: 1, registeredAt });
    } else {
      found.count++;
      found.registeredAt = registeredAt;
    }
    let registered = true;
    return () => {
      if (!registered) return;
      registered = false;
      const entry = this.#starts.get(timestamp)!;
      entry.count--;
      if (entry.count === 0) this.#starts.delete(timestamp);
    };
  }

  /** The oldest timestamp among those that were registered at most `maxAgeMs` ago; Infinity if there is none. Default: any age. */
  oldest(maxAgeMs = Number.POSITIVE_INFINITY): number {
    const since = this.#environment.monotonic() - maxAgeMs;
    // A Map keeps the order of insertion, and starts come nearly in order: but not exactly.
    let oldest = Number.POSITIVE_INFINITY;
    for (const [start, { registeredAt }] of this.#starts) {
      if (start < oldest && registeredAt >= since) oldest = start;
    }
    return oldest;
  }

  get size(): number {
    return this.#starts.size;
  }
}
