/**
 * While more requests than this are under way, new ones wait. The waiting requests are later sent
 * as one group.
 */
const fewUnderWay = 32;
/** Maximum number of background requests under way. This bounds the memory for their answers. */
const maxAtOnce = 1_024;
/** Maximum number of requests that may wait before commits have to wait too. */
const maxWaiting = 16_384;

/**
 * Work that continues after its caller was answered, mostly the secondaries of two-phase commits.
 * Closing the database waits for it.
 */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #waiting: (() => Promise<void>)[] = [];
  #underWay = 0;
  #isBeginning = false;
  readonly #roomless: (() => void)[] = [];

  /** Tracks work until it ends. The work must not reject. */
  track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  /**
   * Sends a background request, in the order of the calls. Requests of one tick are sent as one
   * group. While more than 32 are under way, later requests wait, and are then sent as one group
   * too. The busier the store, the larger the groups. A few unanswered requests do not delay the
   * others.
   */
  send<T>(request: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(async () => {
        try {
          resolve(await request());
        } catch (error) {
          reject(error);
        } finally {
          this.#underWay--;
          this.#beginSoon();
        }
      });
      this.#beginSoon();
    });
  }

  #beginSoon(): void {
    if (this.#isBeginning || this.#waiting.length === 0 || this.#underWay > fewUnderWay) return;
    this.#isBeginning = true;
    void Promise.resolve().then(() => this.#begin());
  }

  #begin(): void {
    this.#isBeginning = false;
    const next = this.#waiting.splice(0, maxAtOnce - this.#underWay);
    this.#underWay += next.length;
    for (const request of next) void request();
    if (this.#waiting.length < maxWaiting) for (const goOn of this.#roomless.splice(0)) goOn();
  }

  /**
   * Back-pressure for two-phase commits. Returns undefined, or a promise that resolves when fewer
   * requests wait.
   */
  room(): Promise<void> | undefined {
    if (this.#waiting.length < maxWaiting) return undefined;
    return new Promise((resolve) => this.#roomless.push(resolve));
  }

  /** Resolves when all work that is running now has ended. */
  async begun(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Resolves when no work is running, including work that starts meanwhile. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
