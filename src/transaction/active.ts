import type { Environment } from "../environment/index.js";

/**
 * 5 s: a transaction holds collection back for at least this long, even if the retention is
 * shorter. On slow machines a transaction can take seconds.
 */
const minHeldMs = 5_000;

/**
 * Milliseconds for which a transaction or snapshot holds collection back: the retention, but at
 * least 5 s.
 */
export function heldMs(retentionMs: number): number {
  return Math.max(retentionMs, minHeldMs);
}

interface Registered {
  count: number;
  /** Monotonic time of the newest registration, in milliseconds. */
  registeredAt: number;
}

/**
 * The open transactions and snapshots of this process, by start timestamp. Collection in this
 * process keeps their versions. The process publishes the oldest one for collection in other
 * processes.
 */
export class ActiveTransactions {
  readonly #environment: Pick<Environment, "monotonic">;
  readonly #starts = new Map<number, Registered>();

  constructor(environment: Pick<Environment, "monotonic">) {
    this.#environment = environment;
  }

  /**
   * Registers a start timestamp, or a lower bound of it. The registration lasts until the caller
   * calls the returned function.
   */
  register(timestamp: number): () => void {
    // A start timestamp does not show when its transaction began. A store with its own counter
    // gives out the timestamp of its last commit, which may be old.
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

  /**
   * The oldest timestamp that was registered at most `maxAgeMs` ago. Infinity if there is none.
   * Default: any age.
   */
  oldest(maxAgeMs = Number.POSITIVE_INFINITY): number {
    const since = this.#environment.monotonic() - maxAgeMs;
    // Start timestamps arrive only nearly in order, so the first of the Map may not be the oldest.
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
