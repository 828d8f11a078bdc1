import { setImmediate as turn } from "node:timers/promises";

/** How long a search computes before other requests get a turn, in milliseconds. */
const sliceMs = 5;

/**
 * Lets other requests run between the steps of a long computation. While a crawl loads, a turn of
 * the event loop takes long, so short steps share one. Only the time of the steps counts, and not
 * the time in which they wait for reads while others compute.
 */
export class Turns {
  readonly #now: () => number;
  #spent = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Runs a step. */
  run<T>(step: () => T): T {
    const began = this.#now();
    try {
      return step();
    } finally {
      this.#spent += this.#now() - began;
    }
  }

  /** Waits for a turn of the event loop if the steps since the last one took long. */
  async pass(): Promise<void> {
    if (this.#spent < sliceMs) return;
    await turn();
    this.#spent = 0;
  }
}
