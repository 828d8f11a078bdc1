/** Settles a caller's promise with its timestamp, or with a rejected promise. */
export type Resolve = (outcome: number | Promise<never>) => void;

/** A caller that has an AbortSignal, so it may stop waiting. */
export class AbortableCaller {
  readonly resolve: Resolve;
  isGone = false;

  constructor(resolve: Resolve) {
    this.resolve = resolve;
  }
}

/**
 * The callers that asked for timestamps at about the same time, in order. A caller without a signal
 * costs only its promise and an array slot, since there may be millions of callers a second.
 */
export class CallerGroup {
  /** Monotonic time at which the first caller asked, in milliseconds. */
  readonly askedAt: number;
  /** How many of the callers in the list no longer wait. */
  gone = 0;
  #callers: (Resolve | AbortableCaller)[] = [];

  constructor(askedAt: number) {
    this.askedAt = askedAt;
  }

  /** The length of the list, including callers that no longer wait. */
  get size(): number {
    return this.#callers.length;
  }

  /** How many callers wait. */
  get open(): number {
    return this.#callers.length - this.gone;
  }

  /** Adds a caller. The caller passes this function to `new Promise` as the executor. */
  readonly enrol = (resolve: Resolve): void => {
    this.#callers.push(resolve);
  };

  add(caller: AbortableCaller): void {
    this.#callers.push(caller);
  }

  /** Removes the callers that no longer wait, before a request asks for timestamps. */
  compact(): void {
    if (this.gone === 0) return;
    this.#callers = this.#callers.filter((caller) => typeof caller === "function" || !caller.isGone);
    this.gone = 0;
  }

  /**
   * Gives each caller its timestamp, from `first` on. Returns the timestamp after the last
   * caller's. The timestamps of callers that no longer wait are unused.
   */
  answer(first: number): number {
    const callers = this.#callers;
    this.#callers = [];
    this.gone = 0;
    let timestamp = first;
    for (const caller of callers) {
      if (typeof caller === "function") caller(timestamp);
      else if (!caller.isGone) caller.resolve(timestamp);
      timestamp++;
    }
    return timestamp;
  }

  /** Rejects all callers. */
  refuse(error: unknown): void {
    const callers = this.#callers;
    this.#callers = [];
    this.gone = 0;
    // One rejected promise for all callers: each caller's promise follows it.
    const refusal = Promise.reject(error);
    refusal.catch(() => undefined);
    for (const caller of callers) {
      if (typeof caller === "function") caller(refusal);
      else if (!caller.isGone) caller.resolve(refusal);
    }
  }
}
