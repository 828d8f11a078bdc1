/**
 * Runs a task once for all callers that ask for it while it runs. The result is not kept: the next
 * caller starts the task again.
 */
export class SingleFlight<T> {
  #running: Promise<T> | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Joins the running work, or starts it if none runs. */
  run(start: () => Promise<T>): Promise<T> {
    this.#running ??= start().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves when no work runs, whether it succeeded or failed. */
  async ended(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }
}
