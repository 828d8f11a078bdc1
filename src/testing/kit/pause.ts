import type { Interference } from "./interference.js";

/**
 * A place at which whoever comes there waits until the test lets it go on: in a commit, by `StepHooks`, or in a function of the
 * program, such as an observer's.
 *
 * @example
 * const pause = new Pause();
 * const slow = observer("slow", documents.text, async (tx, { row }) => {
 *   await pause.here();
 *   tx.set(documents.seen, row, 1);
 * });
 * // ...
 * await pause.reached; // the run has begun, and stands
 * pause.resume();
 */
export class Pause {
  /** Resolves when somebody waits here for the first time. */
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

  /** Resolves once {@link resume} has been called, and tells the test that somebody is here. */
  here(): Promise<void> {
    this.#arrive();
    return this.#going;
  }

  /** Lets everybody go on, whoever comes later too. */
  resume(): void {
    this.#go();
  }

  /** Pauses before a step. */
  readonly before: Interference = async (run) => {
    await this.here();
    return run();
  };

  /** Pauses when a step has been done, before its answer comes. */
  readonly after: Interference = async (run) => {
    const answer = await run();
    await this.here();
    return answer;
  };
}
