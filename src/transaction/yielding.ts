import { type Environment, eventLoopTurn } from "../environment/index.js";

/** After this many cells that the store returned at once, the event loop gets a turn. */
const readsPerTurn = 1_024;
/** It gets one earlier if the reads, and what the program did with them, took this long already. */
const turnEveryMs = 10;
/** After how many reads to look at the time. */
const readsPerLook = 64;
/**
 * A page of a scan counts as at least so many reads. It may have passed over thousands of cells
 * that it does not show.
 */
const readsPerPage = 16;

/**
 * Gives the event loop turns between reads. Stores in this process answer at once, so a program
 * that only reads would otherwise block timers, sockets and other transactions.
 *
 * All reads wait for the same turn. If only the one that is due did, and the others went on, a
 * hundred concurrent transactions would read a hundred times as much before the turn.
 */
export class Yielding {
  readonly #environment: Environment;
  #reads = 0;
  #lookAt = readsPerLook;
  /** Monotonic time. */
  #lastTurnAt = 0;
  #turn: Promise<void> | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Whether the event loop needs a turn before this read of `cells` cells is answered. */
  isDue(cells = 1): boolean {
    this.#reads += cells;
    if (this.#reads < this.#lookAt) return false;
    if (this.#reads >= readsPerTurn || this.#turn !== undefined) return true;
    if (this.#environment.monotonic() - this.#lastTurnAt >= turnEveryMs) return true;
    this.#lookAt += readsPerLook;
    return false;
  }

  /** The same for a page of a scan with `cells` cells. */
  isDueAfterPage(cells: number): boolean {
    return this.isDue(Math.max(readsPerPage, cells));
  }

  /** Resolves after the event loop has had its turn. */
  turn(): Promise<void> {
    this.#turn ??= eventLoopTurn(this.#environment).then(() => {
      this.#reads = 0;
      this.#lookAt = readsPerLook;
      this.#lastTurnAt = this.#environment.monotonic();
      this.#turn = undefined;
    });
    return this.#turn;
  }
}
