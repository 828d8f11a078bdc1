import type { Reporter } from "./violation.js";

/**
 * Checks that each timestamp exceeds all that were issued before it was requested, and that no two
 * are equal (invariant 13).
 */
export class Timestamps {
  readonly #reporter: Reporter;
  readonly #answered = new Set<number>();
  newest = 0;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  answered(askedAfter: number, value: number): void {
    if (value <= askedAfter) {
      const message = `${value} was answered to a request that was made after ${askedAfter} had been answered`;
      this.#reporter.report(13, "the oracle", message);
    } else if (this.#answered.has(value)) {
      this.#reporter.report(13, "the oracle", `${value} was answered twice`);
    }
    this.#answered.add(value);
    if (value > this.newest) this.newest = value;
  }
}
