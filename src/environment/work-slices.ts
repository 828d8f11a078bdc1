import type { Environment } from "./environment.js";
import { eventLoopTurn } from "./sleep.js";

/** One more step follows for each so many milliseconds of the turn before. A step takes some 2 to 4 ms. */
const turnMsPerStep = 16;
/** The most steps in a row. It bounds how long others wait. */
const maxSteps = 32;

/**
 * Gives the event loop turns in the middle of long work. If the process has little else to do, every
 * step is followed by a turn. In a busy process, a turn can take hundreds of milliseconds, and work
 * that did one step a turn would fall behind: collection would drop less than the others write. So
 * the longer a turn took, the more steps follow until the next one.
 */
export class WorkSlices {
  readonly #environment: Environment;
  #stepsLeft = 1;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Call it after each step. Gives the event loop a turn, unless more steps are to follow the last one. */
  async next(): Promise<void> {
    if (--this.#stepsLeft > 0) return;
    const endedAt = this.#environment.monotonic();
    await eventLoopTurn(this.#environment);
    const turnMs = this.#environment.monotonic() - endedAt;
    this.#stepsLeft = Math.min(maxSteps, 1 + Math.floor(turnMs / turnMsPerStep));
  }
}
