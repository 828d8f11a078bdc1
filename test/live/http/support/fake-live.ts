import { ClosedError, type LiveRead, type LiveValue, type Snapshot } from "percolatordb";
import type { LiveDatabase } from "percolatordb/live";

interface Waiting {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function waiting(): Waiting {
  let resolve = () => {};
  const promise = new Promise<void>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}

/** Rejects when the signal is aborted. */
function abortOf(signal: AbortSignal | undefined): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(new Error("aborted"));
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
  });
  aborted.catch(() => undefined);
  return aborted;
}

/**
 * A database whose live queries run when a test says that what they read has changed. It keeps to
 * the contract of `db.live`: a query runs only while a `next` waits.
 */
export class FakeLive implements LiveDatabase {
  isClosed = false;
  /** Queries that have begun and not ended. */
  open = 0;
  /** How often queries ran. */
  runs = 0;
  #version = 1;
  #moved = waiting();

  /** Runs the queries again, as of this timestamp. */
  change(timestamp = this.#version + 1): void {
    this.#version = timestamp;
    this.#wake();
  }

  close(): void {
    this.isClosed = true;
    this.#wake();
  }

  #wake(): void {
    this.#moved.resolve();
    this.#moved = waiting();
  }

  async *live<T>(
    read: LiveRead<T>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LiveValue<T>, void, undefined> {
    this.open++;
    try {
      let seen = 0;
      const aborted = abortOf(signal);
      for (;;) {
        while (seen === this.#version && !this.isClosed) {
          await Promise.race([this.#moved.promise, aborted]);
        }
        if (this.isClosed) throw new ClosedError("The database was closed while a live query waited.");
        signal?.throwIfAborted();
        seen = this.#version;
        this.runs++;
        const value = await read({ timestamp: seen } as Snapshot);
        yield { value, timestamp: seen };
      }
    } finally {
      this.open--;
    }
  }
}
