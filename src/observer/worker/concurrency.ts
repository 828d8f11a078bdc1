/** Runs at the same time if nothing else was asked for; conflicts may reduce them. */
export const defaultConcurrency = 64;
/** Runs that wait for the same flush cost only memory. */
const maxRuns = 512;
const step = 32;
/**
 * Rows in conflict are run one at a time as it is, and other processes may be the cause: fewer runs
 * than these would only be slower.
 */
const minRuns = 8;
/** Ended runs between two decisions: so many times the limit. */
const windowRuns = 2;
/** Above this share of conflicts there are fewer at the same time, and below the other one more. */
const manyConflicts = 0.1;
const fewConflicts = 0.02;

/** How many runs of one observer a worker has at the same time. */
export interface ConcurrencyLimit {
  readonly limit: number;
  /** Told when a run has ended; `isFull` if no other could have begun beside it. */
  ended(isFull: boolean, conflicted: boolean): void;
}

/** As many as was asked for. */
export function fixedConcurrency(limit: number): ConcurrencyLimit {
  return { limit, ended: () => undefined };
}

/**
 * The more runs of an observer there are at a time, the more of them conflict. There are fewer of
 * them while many do, down to 8, and more again while all are in use and hardly any conflict.
 * Decided by counting, not by clocks.
 */
export class AdaptiveConcurrency implements ConcurrencyLimit {
  limit = defaultConcurrency;
  readonly #most: number;
  #ended = 0;
  #conflicts = 0;
  #wasFull = false;

  /**
   * `sharesFlushes`: whether runs wait for a flush that they share, so that there may be up to 512
   * of them, and not 64.
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
