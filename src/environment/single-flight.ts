/**
 * Work that is done once for all callers that ask for it while it goes on. Its result is not kept:
 * the next caller starts it again.
 */
export class SingleFlight<T> {
  #running: Promise<T> | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Joins the work that goes on, or starts it. */
  run(start: () => Promise<T>): Promise<T> {
    this.#running ??= start().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves when no work goes on, whether it succeeded or failed. */
  async ended(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }
}
