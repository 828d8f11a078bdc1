import type { CommitHooks, StepInfo, StepName } from "percolatordb/testing";
import type { Random } from "./random.js";

/**
 * Steps that the owner of a transaction takes in sequence. If the owner stops at one of them, it
 * takes none of the later ones.
 */
const stopping: ReadonlySet<StepName> = new Set([
  "one-phase-commit",
  "prewrite",
  "commit-timestamp",
  "validate",
  "hints",
  "commit-primary",
]);

/**
 * Steps that are one request to the store. The request or its answer may be lost, or the request
 * may be applied twice.
 */
const requests: ReadonlySet<StepName> = new Set([
  "one-phase-commit",
  "prewrite",
  "commit-primary",
  "commit-secondary",
  "rollback-secondary",
]);

/**
 * Hooks that lose requests and answers of labelled transactions, repeat requests, and stop some
 * clients for good.
 */
export class LossyHooks implements CommitHooks {
  readonly #random: Random;
  readonly #stopped = new Set<string>();
  readonly #clients = new Map<string, () => void>();
  #healed = false;
  /** Steps so far at which a client could have been stopped. */
  #chances = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** How many clients were stopped. */
  get stops(): number {
    return this.#stopped.size;
  }

  /** Resolves when the client whose transactions have this label is stopped. */
  stopped(label: string): Promise<void> {
    return new Promise((resolve) => this.#clients.set(label, resolve));
  }

  /** Ends the faults. Clients that were stopped stay stopped. */
  heal(): void {
    this.#healed = true;
  }

  async step<T>(name: StepName, info: StepInfo, run: () => Promise<T>): Promise<T> {
    const isOwners = stopping.has(name) || name === "refresh";
    // One-phase transactions may share a start timestamp.
    const transaction = `${info.startTimestamp} ${info.label}`;
    if (isOwners && this.#stopped.has(transaction)) return never();
    if (this.#healed || info.label === undefined || !this.#clients.has(info.label)) return run();
    if (stopping.has(name) && this.#stops()) {
      if (this.#random.percent(50)) await run();
      this.#stopped.add(transaction);
      this.#clients.get(info.label)!();
      return never();
    }
    return requests.has(name) && this.#random.percent(12) ? this.#request(name, run) : run();
  }

  /** True at random, but at least once, whatever the random numbers are. */
  #stops(): boolean {
    this.#chances++;
    return this.#random.percent(2) || (this.#chances >= 30 && this.#stopped.size === 0);
  }

  async #request<T>(name: StepName, run: () => Promise<T>): Promise<T> {
    const unknown = (name === "one-phase-commit" ? { answer: "unknown" } : "unknown") as T;
    const fate = this.#random.below(3);
    if (fate === 0) return unknown;
    const answer = await run();
    if (fate === 1) return unknown;
    await run();
    return answer;
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => {});
}
