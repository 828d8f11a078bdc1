import type { JudgedTransaction } from "./transaction.js";

/** Collects findings by kind. Counts all, and keeps the first messages. */
export class Findings {
  readonly #maxExamples: number;
  readonly #found = new Map<string, { count: number; readonly examples: string[] }>();

  constructor(maxExamples = 3) {
    this.#maxExamples = maxExamples;
  }

  add(kind: string, transactions: readonly JudgedTransaction[], message: string): void {
    const found = this.#found.get(kind) ?? { count: 0, examples: [] };
    this.#found.set(kind, found);
    found.count++;
    if (found.examples.length < this.#maxExamples) {
      found.examples.push([message, ...transactions.map(String)].join("\n  "));
    }
  }

  *[Symbol.iterator](): Generator<readonly [string, { count: number; examples: readonly string[] }]> {
    yield* this.#found;
  }
}
