/**
 * Settles a caller's promise: with its timestamp, or with a rejected promise, which it then
 * follows.
 */
export type Resolve = (outcome: number | Promise<never>) => void;

/** A caller who may stop waiting. */
export class AbortableCaller {
  readonly resolve: Resolve;
  isGone = false;

  constructor(resolve: Resolve) {
    this.resolve = resolve;
  }
}

/**
 * Callers who asked for timestamps at about one time, in their order. All that a caller without a
 * signal costs is its promise and a place in a list: there may be millions a second.
 */
export class CallerGroup {
  /** Monotonic time when the first of them asked. */
  readonly askedAt: number;
  /** Of those who have a place, how many wait no longer. */
  gone = 0;
  #callers: (Resolve | AbortableCaller)[] = [];

  constructor(askedAt: number) {
    this.askedAt = askedAt;
  }

  /** How many have a place. */
  get size(): number {
    return this.#callers.length;
  }

  /** How many wait. */
  get open(): number {
    return this.#callers.length - this.gone;
  }

  /** Gives a place to a caller: what `new Promise` is made with. */
  readonly enrol = (resolve: Resolve): void => {
    this.#callers.push(resolve);
  };

  add(caller: AbortableCaller): void {
    this.#callers.push(caller);
  }

  /** Takes the places of those who have gone, before timestamps are asked for. */
  compact(): void {
    if (this.gone === 0) return;
    this.#callers = this.#callers.filter((caller) => typeof caller === "function" || !caller.isGone);
    this.gone = 0;
  }

  /**
   * Gives each place its timestamp, from `first` on; answers the one after the last. That of one
   * who has gone is nobody's.
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

  /** Refuses all. */
  refuse(error: unknown): void {
    const callers = this.#callers;
    this.#callers = [];
    this.gone = 0;
    // One for all: a promise that is resolved with it is rejected as it is.
    const refusal = Promise.reject(error);
    refusal.catch(() => undefined);
    for (const caller of callers) {
      if (typeof caller === "function") caller(refusal);
      else if (!caller.isGone) caller.resolve(refusal);
    }
  }
}
