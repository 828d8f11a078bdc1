import { unlessAborted } from "./abort.js";

/** Runs tasks of this process one after the other, in the order in which they were given. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Resolves to what the task returns. The task begins when all before it have ended, whether they
   * succeeded or failed. If `signal` is aborted before that, the task never begins, and the answer
   * is an error that says that `doing` was aborted.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal | undefined, doing: string): Promise<T> {
    const before = this.#last;
    const answer = unlessAborted(before, signal, doing).then(task);
    const ended = answer.catch(() => undefined);
    this.#last = before.then(() => ended);
    return answer;
  }
}
