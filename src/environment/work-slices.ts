import type { Environment } from "./environment.js";
import { eventLoopTurn } from "./sleep.js";

/** Of the time of a busy process, long work takes a fifth: a fourth of what the others take. */
const share = 0.25;
/** The longest time for which others wait for a slice, in milliseconds. */
const maxSliceMs = 50;

/**
 * Gives the event loop turns in the middle of long work. If the process has little else to do, every
 * step is followed by a turn. In a busy process, a turn can take a hundred milliseconds, and work
 * that did one step a turn would fall behind: collection would drop less than the others write. So
 * the longer the last turn took, the more steps follow until the next one.
 */
export class WorkSlices {
  readonly #environment: Environment;
  #beganAt = 0;
  #sliceMs = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Call it after each step. Gives the event loop a turn, unless the slice has time for more steps. */
  async next(): Promise<void> {
    const endedAt = this.#environment.monotonic();
    if (endedAt - this.#beganAt < this.#sliceMs) return;
    await eventLoopTurn(this.#environment);
    this.#beganAt = this.#environment.monotonic();
    this.#sliceMs = Math.min(maxSliceMs, (this.#beganAt - endedAt) * share);
  }
}
