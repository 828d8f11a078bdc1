/** Runs tasks of this process one after the other, in the order in which they were given. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Answers what the task does. It begins when those before it have ended, however. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const answer = this.#last.then(task);
    this.#last = answer.catch(() => undefined);
    return answer;
  }
}
