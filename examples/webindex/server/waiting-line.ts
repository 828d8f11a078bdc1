/** Lets a limited number of tasks run at a time. Further ones wait in line, up to a deadline. */
export interface WaitingLineOptions {
  /** How many tasks run at a time. */
  readonly atOnce: number;
  /** How many further tasks may wait. */
  readonly maxWaiting: number;
  /** How long a task waits at most, in milliseconds. */
  readonly deadlineMs: number;
}

interface Waiting {
  readonly start: () => void;
}

export class WaitingLine {
  readonly #options: WaitingLineOptions;
  readonly #line = new Set<Waiting>();
  #running = 0;

  constructor(options: WaitingLineOptions) {
    this.#options = options;
  }

  /**
   * Waits for a turn. Resolves to a function that ends the turn, or to `undefined` if the line is
   * full, if the deadline passed, or if the signal aborted.
   */
  async enter(signal: AbortSignal): Promise<(() => void) | undefined> {
    const { atOnce, maxWaiting } = this.#options;
    if (this.#running < atOnce) {
      this.#running++;
      return this.#leave();
    }
    if (this.#line.size >= maxWaiting || signal.aborted) return undefined;
    return (await this.#wait(signal)) ? this.#leave() : undefined;
  }

  /** Resolves to whether the task's turn has come. */
  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTurn: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        this.#line.delete(waiting);
        resolve(isTurn);
      };
      const giveUp = () => end(false);
      const waiting: Waiting = { start: () => end(true) };
      const timer = setTimeout(giveUp, this.#options.deadlineMs);
      signal.addEventListener("abort", giveUp);
      this.#line.add(waiting);
    });
  }

  /** Passes the turn to the task that has waited longest. */
  #leave(): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const [next] = this.#line;
      if (next === undefined) this.#running--;
      else next.start();
    };
  }
}
