/** Runs at the same time where nothing else was asked for; no store has fewer by itself. */
export const defaultConcurrency = 64;
const mostRuns = 512;
const step = 32;
/** Ended runs between two decisions. */
const windowRuns = 128;
/** Above this share of conflicts there are fewer at the same time, and below the other one more. */
const manyConflicts = 0.1;
const fewConflicts = 0.02;

/** How many runs a worker has at the same time. */
export interface RunWidth {
  readonly limit: number;
  /** Told when a run has ended, while `inFlight` others and itself were under way. */
  ended(inFlight: number, conflicted: boolean): void;
}

/** As many as was asked for. */
export function fixedWidth(limit: number): RunWidth {
  return { limit, ended: () => undefined };
}

/**
 * Runs that wait for the store to flush what they committed cost nothing but memory, and share that flush; but the more there are, the
 * more of them meet. So there are more while all are in use and hardly any conflict, and fewer again when they do. Decided
 * by counting, not by clocks.
 */
export class AdaptiveWidth implements RunWidth {
  limit = defaultConcurrency;
  #ended = 0;
  #conflicts = 0;
  #wasFull = false;

  ended(inFlight: number, conflicted: boolean): void {
    this.#ended++;
    if (conflicted) this.#conflicts++;
    if (inFlight >= this.limit) this.#wasFull = true;
    if (this.#ended >= windowRuns) this.#decide();
  }

  #decide(): void {
    const share = this.#conflicts / this.#ended;
    if (share > manyConflicts) this.limit = Math.max(defaultConcurrency, this.limit >> 1);
    else if (share < fewConflicts && this.#wasFull) this.limit = Math.min(mostRuns, this.limit + step);
    this.#ended = 0;
    this.#conflicts = 0;
    this.#wasFull = false;
  }
}
