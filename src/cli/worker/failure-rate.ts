import type { Environment } from "../../environment/index.js";

/**
 * Milliseconds until a failure with the same text is printed again. It is short enough to show that
 * the failure continues.
 */
const sameMs = 10_000;
/** Milliseconds until a failure with a different text is printed. */
const otherMs = 1_000;
/** Most names to remember. The tasks that can fail have only a few names. */
const maxNames = 100;

interface Reported {
  readonly text: string;
  readonly at: number;
  suppressed: number;
}

/**
 * Limits how often a worker prints repeated failures. For each task it prints at most one failure a
 * second, and an unchanged failure at most every 10 s.
 */
export class FailureRate {
  readonly #environment: Environment;
  readonly #reported = new Map<string, Reported>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /**
   * Returns how many failures of `doing` were suppressed since the last one that was printed.
   * Returns undefined if the new failure must be suppressed too.
   */
  admit(doing: string, text: string): number | undefined {
    const at = this.#environment.monotonic();
    const reported = this.#reported.get(doing);
    if (reported !== undefined && at - reported.at < (reported.text === text ? sameMs : otherMs)) {
      reported.suppressed++;
      return undefined;
    }
    this.#reported.delete(doing);
    if (this.#reported.size >= maxNames) this.#reported.delete(this.#reported.keys().next().value!);
    this.#reported.set(doing, { text, at, suppressed: 0 });
    return reported?.suppressed ?? 0;
  }
}
