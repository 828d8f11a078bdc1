import { sleep } from "../../environment/index.js";
import type { Worker, WorkerReadiness } from "../../observer/index.js";
import type { Cli } from "../cli.js";

/**
 * Interval between two readiness checks of a running worker, in milliseconds. The answer of
 * `/readyz` is at most this old.
 */
const askEveryMs = 2_000;
/** The same interval until the worker has started. */
const startingMs = 200;

/**
 * Asks a worker at intervals whether it can work. `/readyz` shows the answer, and the command ends
 * if the worker has nothing left to run.
 */
export class ReadinessWatch {
  readonly #cli: Cli;
  #last: WorkerReadiness | undefined;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  /**
   * Why the worker is not ready, or undefined if it is. It covers only the worker itself, not the
   * services that it needs.
   */
  get unready(): string | undefined {
    if (this.#cli.signal.aborted) return "The worker is ending.";
    if (this.#last === undefined) return "The worker has not started yet.";
    return this.#last.isReady ? undefined : this.#last.reasons.join(" ");
  }

  /**
   * Resolves with the reasons when the worker has nothing left to run. Resolves with undefined
   * after the signal.
   */
  async untilObsolete(worker: Worker): Promise<readonly string[] | undefined> {
    const { environment, signal } = this.#cli;
    while (!signal.aborted) {
      // If the store does not answer, the last answer about the observers stays. `/readyz` reports
      // the store itself.
      this.#last = (await worker.readiness().catch(() => undefined)) ?? this.#last;
      if (this.#last?.isObsolete === true && !signal.aborted) return this.#last.reasons;
      await sleep(environment, this.#last?.isReady ? askEveryMs : startingMs, signal).catch(() => undefined);
    }
    return undefined;
  }
}
