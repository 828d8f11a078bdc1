import { type Environment, eventLoopTurn } from "../environment/index.js";

/** After this many cells that the store returned at once, the event loop gets a turn. */
const readsPerTurn = 1_024;

/**
 * Gives the event loop turns between reads. Stores in this process answer at once, so a program
 * that only reads would otherwise block timers, sockets and other transactions.
 */
export class Yielding {
  readonly #environment: Environment;
  #reads = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Whether the event loop needs a turn before this read of `cells` cells is answered. */
  isDue(cells = 1): boolean {
    this.#reads += cells;
    return this.#reads >= readsPerTurn;
  }

  /** Resolves after the event loop has had its turn. */
  turn(): Promise<void> {
    this.#reads = 0;
    return eventLoopTurn(this.#environment);
  }
}
