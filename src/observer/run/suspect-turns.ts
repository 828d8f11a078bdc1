import { type Environment, sleep } from "../../environment/index.js";

/**
 * After this time, in milliseconds, others no longer wait for a run. A run that hangs does not keep
 * them from their turns.
 */
export const maxTurnMs = 10_000;

/**
 * Turns of hints that may have ended a process. Those that saw one such end run beside one another.
 * Those that saw more run alone, so that the next end shows which of them is the cause.
 */
export class SuspectTurns {
  readonly #environment: Environment;
  /** Resolves when all turns that are alone, and began to wait before now, have ended. */
  #alone: Promise<unknown> = Promise.resolve();
  readonly #beside = new Set<Promise<unknown>>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Calls `run` when no other run is alone. Rejects as `run` does. */
  async beside(run: () => Promise<void>): Promise<void> {
    const { running, turn } = this.#after(this.#alone, run);
    this.#beside.add(turn);
    void turn.then(() => this.#beside.delete(turn));
    await running;
  }

  /** Calls `run` when no other run has its turn. Rejects as `run` does. */
  async alone(run: () => Promise<void>): Promise<void> {
    const { running, turn } = this.#after(Promise.all([this.#alone, ...this.#beside]), run);
    this.#alone = turn;
    await running;
  }

  /** Calls `run` after other turns. Its turn never rejects. */
  #after(before: Promise<unknown>, run: () => Promise<void>) {
    const over = new AbortController();
    const running = before.then(run).finally(() => over.abort());
    const turn = before.then(() => sleep(this.#environment, maxTurnMs, over.signal)).catch(() => undefined);
    return { running, turn };
  }
}
