import { unlessAborted } from "./abort.js";

/** Runs tasks of this process one after another, in the order of the calls. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Resolves to the result of the task. The task begins when all earlier tasks have ended, whether
   * they succeeded or failed. If `signal` is aborted before that, the task never begins, and the
   * promise rejects with an error that says that `doing` was aborted.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal | undefined, doing: string): Promise<T> {
    const before = this.#last;
    const answer = unlessAborted(before, signal, doing).then(task);
    const ended = answer.catch(() => undefined);
    this.#last = before.then(() => ended);
    return answer;
  }
}
