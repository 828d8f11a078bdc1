import type { Interference } from "./interference.js";

/**
 * A place where code waits until the test lets it continue: a step of a commit, through
 * `StepHooks`, or a function of the program, such as an observer's.
 *
 * @example
 * const pause = new Pause();
 * const slow = observer("slow", documents.text, async (tx, { row }) => {
 *   await pause.here();
 *   tx.set(documents.seen, row, 1);
 * });
 * // ...
 * await pause.reached; // the run has begun and waits
 * pause.resume();
 */
export class Pause {
  /** Resolves when code first waits here. */
  readonly reached: Promise<void>;
  readonly #going: Promise<void>;
  #arrive = () => {};
  #go = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#arrive = resolve;
    });
    this.#going = new Promise((resolve) => {
      this.#go = resolve;
    });
  }

  /** Tells the test that code waits here. Resolves once {@link resume} has been called. */
  here(): Promise<void> {
    this.#arrive();
    return this.#going;
  }

  /** Lets all waiting code continue. Code that calls {@link here} later does not wait. */
  resume(): void {
    this.#go();
  }

  /** Pauses before a step. */
  readonly before: Interference = async (run) => {
    await this.here();
    return run();
  };

  /** Pauses after a step, before its answer arrives. */
  readonly after: Interference = async (run) => {
    const answer = await run();
    await this.here();
    return answer;
  };
}
