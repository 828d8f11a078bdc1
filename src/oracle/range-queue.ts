import { abortError, onAbort } from "../environment/index.js";
import { OracleUnavailableError } from "../errors/index.js";
import type { TimestampRange } from "./range.js";

interface Waiting {
  readonly count: number;
  readonly resolve: (range: TimestampRange) => void;
  readonly reject: (error: unknown) => void;
}

/** The requests that wait until the leader has raised the mark, in order. */
export class RangeQueue {
  readonly #most: number;
  readonly #waiting = new Set<Waiting>();

  constructor(most: number) {
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(count: number, signal: AbortSignal | undefined): Promise<TimestampRange> {
    if (this.#waiting.size >= this.#most) {
      const message = `The oracle's window is used up, and ${this.#most} requests already wait. Ask again.`;
      return Promise.reject(new OracleUnavailableError(message));
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        stopListening();
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        count,
        resolve: (range) => {
          leave();
          resolve(range);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      this.#waiting.add(waiting);
      const stopListening = onAbort(signal, () => waiting.reject(abortError(signal!, "Taking timestamps")));
    });
  }

  /**
   * Serves requests in order, up to the first one for which the mark is too low. If `take` throws
   * for a request, that request rejects.
   */
  serve(take: (count: number) => TimestampRange | undefined): void {
    for (const waiting of this.#waiting) {
      try {
        const range = take(waiting.count);
        if (range === undefined) return;
        waiting.resolve(range);
      } catch (error) {
        waiting.reject(error);
      }
    }
  }

  fail(error: Error): void {
    for (const waiting of this.#waiting) waiting.reject(error);
  }
}
