/** While more requests are under way, what comes waits, and goes together when they have become fewer. */
const fewUnderWay = 32;
const maxAtOnce = 1_024;
/** Requests that wait; while more do, commits wait, too. */
const maxWaiting = 16_384;

/** Work that goes on after its caller was answered; closing waits for it. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #waiting: (() => Promise<void>)[] = [];
  #underWay = 0;
  #isBeginning = false;
  readonly #roomless: (() => void)[] = [];

  /** The work must not reject. */
  track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  /**
   * Sends a request that nobody is kept waiting by: with those of the same tick, and while many are under way, with all that come
   * until they have been answered. So the store gets them in bulk the more there are, and a few that it does not answer hold up
   * no others. In the order of the calls.
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

  /** Whoever is to cause more work waits here while too much of it waits already; undefined: go on. */
  room(): Promise<void> | undefined {
    if (this.#waiting.length < maxWaiting) return undefined;
    return new Promise((resolve) => this.#roomless.push(resolve));
  }

  /** Resolves when what is running now has ended. */
  async begun(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Resolves when nothing is running, work begun meanwhile included. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
