/**
 * The transactions and snapshots of this process that still read, by start timestamp: what collection in this
 * process must not take from under them, and what the process publishes for the others.
 */
export class ActiveTransactions {
  readonly #starts = new Map<number, number>();

  /** Registers a start timestamp, or a floor below it, until the returned function is called. */
  register(timestamp: number): () => void {
    this.#starts.set(timestamp, (this.#starts.get(timestamp) ?? 0) + 1);
    let registered = true;
    return () => {
      if (!registered) return;
      registered = false;
      const count = this.#starts.get(timestamp)! - 1;
      if (count === 0) this.#starts.delete(timestamp);
      else this.#starts.set(timestamp, count);
    };
  }

  /** The oldest registered timestamp; Infinity where none is. */
  oldest(): number {
    // A Map keeps the order of insertion, and starts come nearly in order: but not exactly.
    let oldest = Number.POSITIVE_INFINITY;
    for (const start of this.#starts.keys()) if (start < oldest) oldest = start;
    return oldest;
  }

  get size(): number {
    return this.#starts.size;
  }
}
