import type { ViolationReporter } from "./violation.js";

/**
 * Checks that each timestamp exceeds all that were issued before it was requested, and that no two
 * are equal (invariant 13).
 */
export class Timestamps {
  readonly #reporter: ViolationReporter;
  readonly #answered = new Set<number>();
  newest = 0;

  constructor(reporter: ViolationReporter) {
    this.#reporter = reporter;
  }

  answered(askedAfter: number, value: number): void {
    if (value <= askedAfter) {
      const message = `the oracle returned ${value} for a request that came after it had returned ${askedAfter}`;
      this.#reporter.report(13, "the oracle", message);
    } else if (this.#answered.has(value)) {
      this.#reporter.report(13, "the oracle", `the oracle returned ${value} twice`);
    }
    this.#answered.add(value);
    if (value > this.newest) this.newest = value;
  }
}
