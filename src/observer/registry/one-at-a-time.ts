import { unlessAborted } from "../../errors/index.js";

/** Runs tasks of this process one after the other, in the order in which they were given. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Answers what the task does. It begins when those before it have ended, however; if `signal` is aborted before, it never begins, and
   * the answer is an error that says that `doing` was aborted.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal | undefined, doing: string): Promise<T> {
    const before = this.#last;
    const answer = unlessAborted(before, signal, doing).then(task);
    const ended = answer.catch(() => undefined);
    this.#last = before.then(() => ended);
    return answer;
  }
}
