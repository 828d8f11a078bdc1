import { sleep } from "../../environment/index.js";
import type { Worker, WorkerReadiness } from "../../observer/index.js";
import type { Cli } from "../cli.js";

/** How often a worker is asked, in milliseconds: the readiness page is as old as that. */
const askEveryMs = 2_000;
/** The same before it has begun. */
const startingMs = 200;

/** Asks a worker from time to time whether it is able to work: for `/readyz`, and to end it if it has nothing to run any more. */
export class ReadinessWatch {
  readonly #cli: Cli;
  #last: WorkerReadiness | undefined;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  /** Why the worker runs nothing though everything that it needs answers; undefined if it does run. */
  get unready(): string | undefined {
    if (this.#cli.signal.aborted) return "The worker is ending.";
    if (this.#last === undefined) return "The worker has not started yet.";
    return this.#last.isReady ? undefined : this.#last.reasons.join(" ");
  }

  /** Resolves with the reasons when the worker has nothing to run any more; with undefined after the signal. */
  async untilObsolete(worker: Worker): Promise<readonly string[] | undefined> {
    const { environment, signal } = this.#cli;
    while (!signal.aborted) {
      // A store that does not answer says nothing of the observers; `/readyz` says that it does not.
      this.#last = (await worker.readiness().catch(() => undefined)) ?? this.#last;
      if (this.#last?.isObsolete === true && !signal.aborted) return this.#last.reasons;
      await sleep(environment, this.#last?.isReady ? askEveryMs : startingMs, signal).catch(() => undefined);
    }
    return undefined;
  }
}
