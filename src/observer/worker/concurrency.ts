/** The default number of concurrent runs. Conflicts may reduce it. */
export const defaultConcurrency = 64;
/**
 * Maximum number of concurrent runs on a store with group commit. There, a run that waits for a
 * shared flush costs only memory.
 */
const maxRuns = 512;
const step = 32;
/**
 * Minimum number of concurrent runs. Runs of conflicting rows already take turns, and other
 * processes may cause the conflicts. A lower limit would therefore prevent few conflicts, and slow
 * the worker down.
 */
const minRuns = 8;
/** How many runs must end between two decisions, as a multiple of the limit. */
const windowRuns = 2;
/**
 * If the share of conflicts is above the first value, the limit shrinks. If it is below the second
 * value, the limit grows.
 */
const manyConflicts = 0.1;
const fewConflicts = 0.02;

/** How many runs of one observer a worker has at the same time. */
export interface ConcurrencyLimit {
  readonly limit: number;
  /** Called when a run has ended. `isFull`: whether the limit kept another run from beginning. */
  ended(isFull: boolean, conflicted: boolean): void;
}

/** A constant limit, which the program has set. */
export function fixedConcurrency(limit: number): ConcurrencyLimit {
  return { limit, ended: () => undefined };
}

/**
 * Adapts the limit to conflicts: the more runs of an observer are concurrent, the more of them
 * conflict. The limit shrinks, down to 8, while many runs conflict. It grows while the worker uses
 * the whole limit and hardly any runs conflict. It counts runs and uses no clock.
 */
export class AdaptiveConcurrency implements ConcurrencyLimit {
  limit = defaultConcurrency;
  readonly #most: number;
  #ended = 0;
  #conflicts = 0;
  #wasFull = false;

  /**
   * `sharesFlushes`: whether concurrent runs wait for a shared flush. If so the limit may grow to
   * 512, else to 64.
   */
  constructor(sharesFlushes: boolean) {
    this.#most = sharesFlushes ? maxRuns : defaultConcurrency;
  }

  ended(isFull: boolean, conflicted: boolean): void {
    this.#ended++;
    if (conflicted) this.#conflicts++;
    if (isFull) this.#wasFull = true;
    if (this.#ended >= windowRuns * Math.max(this.limit, 16)) this.#decide();
  }

  #decide(): void {
    const share = this.#conflicts / this.#ended;
    if (share > manyConflicts) this.limit = Math.max(minRuns, this.limit >> 1);
    else if (share < fewConflicts && this.#wasFull) {
      const more = Math.min(step, this.limit);
      this.limit = Math.min(this.#most, this.limit + more);
    }
    this.#ended = 0;
    this.#conflicts = 0;
    this.#wasFull = false;
  }
}
