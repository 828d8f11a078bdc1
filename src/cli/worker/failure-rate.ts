import type { Environment } from "../../environment/index.js";

/**
 * Milliseconds until a failure with the same text is printed again: often enough to show that it
 * continues.
 */
const sameMs = 10_000;
/** Milliseconds until a failure with a different text is printed. */
const otherMs = 1_000;
/** Most names to remember. The tasks that can fail have only a few names. */
const maxNames = 100;

interface Told {
  readonly text: string;
  readonly at: number;
  untold: number;
}

/**
 * Limits how often a worker prints repeated failures. For each task it prints one a second at most,
 * and an unchanged failure every 10 s.
 */
export class FailureRate {
  readonly #environment: Environment;
  readonly #told = new Map<string, Told>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /**
   * Returns how many failures of `doing` were suppressed since the last one that was printed.
   * Returns undefined if this one must be suppressed too.
   */
  admit(doing: string, text: string): number | undefined {
    const at = this.#environment.monotonic();
    const told = this.#told.get(doing);
    if (told !== undefined && at - told.at < (told.text === text ? sameMs : otherMs)) {
      told.untold++;
      return undefined;
    }
    this.#told.delete(doing);
    if (this.#told.size >= maxNames) this.#told.delete(this.#told.keys().next().value!);
    this.#told.set(doing, { text, at, untold: 0 });
    return told?.untold ?? 0;
  }
}
