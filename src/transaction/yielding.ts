import type { Environment } from "../environment/index.js";

/** Reads that are answered at once, after which others get a turn. */
const readsPerTurn = 1_024;

/**
 * Stores in this process answer reads at once, so that a program which only reads would never let timers, sockets and
 * other transactions have their turn. Every now and then a read therefore waits for one.
 */
export class Yielding {
  readonly #environment: Environment;
  #reads = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Whether the event loop is to have a turn before this read of so many cells is answered. */
  isDue(cells = 1): boolean {
    this.#reads += cells;
    return this.#reads >= readsPerTurn;
  }

  /** Resolves after the event loop has had its turn. */
  turn(): Promise<void> {
    this.#reads = 0;
    return new Promise((resolve) => this.#environment.defer(resolve));
  }
}
