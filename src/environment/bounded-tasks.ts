/**
 * Tasks that run at the same time, at most so many. One caller begins them one after another, and
 * ends with {@link end}, also if something else has failed, so that none is left behind.
 */
export class BoundedTasks {
  readonly #most: number;
  #running = 0;
  #failure: { readonly error: unknown } | undefined;
  #wait: { readonly below: number; readonly resolve: () => void } | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Begins a task. Returns a promise if as many run as may, which resolves when another one has room.
   *
   * @throws the error of an earlier task that has failed.
   */
  begin(task: () => Promise<void>): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#running++;
    task().then(
      () => this.#ended(),
      (error: unknown) => {
        this.#failure ??= { error };
        this.#ended();
      },
    );
    return this.#running < this.#most ? undefined : this.#fewerThan(this.#most);
  }

  /** Resolves when all tasks have ended. Rejects if one has failed. */
  async end(): Promise<void> {
    if (this.#running > 0) await this.#fewerThan(1);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #fewerThan(below: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wait = { below, resolve };
    });
  }

  #ended(): void {
    this.#running--;
    if (this.#wait === undefined || this.#running >= this.#wait.below) return;
    this.#wait.resolve();
    this.#wait = undefined;
  }
}
