import type { Environment } from "./environment.js";
import { sleep } from "./sleep.js";

/** How many steps a pace makes in a second. Few units a step spread the work over the time. */
const stepsASecond = 4;

/** Bounds how much work is done in a second. The work is done in steps, and a step is never undone. */
export class Pace {
  readonly #environment: Environment;
  readonly #rate: number | undefined;
  /** Monotonic time before which the next step must not begin. */
  #notBefore = 0;

  /** `rate` is the most units in a second. Without it, nothing waits. */
  constructor(environment: Environment, rate: number | undefined) {
    this.#environment = environment;
    this.#rate = rate;
  }

  /** The most units that a step should do, at least 1. `most` is the bound for all rates. */
  atOnce(most: number): number {
    if (this.#rate === undefined) return most;
    return Math.min(most, Math.max(1, Math.round(this.#rate / stepsASecond)));
  }

  /** Waits until the next step may begin. Rejects as {@link sleep} does. */
  async wait(signal: AbortSignal | undefined, doing: string): Promise<void> {
    const waitMs = this.#notBefore - this.#environment.monotonic();
    if (waitMs > 0) await sleep(this.#environment, waitMs, signal, doing);
  }

  /** Counts the units that a step does. */
  count(units: number): void {
    if (this.#rate === undefined) return;
    const from = Math.max(this.#notBefore, this.#environment.monotonic());
    this.#notBefore = from + (units / this.#rate) * 1_000;
  }
}
