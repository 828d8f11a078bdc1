/**
 * The answer of `POST api/parked/retry`, `api/parked/discard` and `api/locks/resolve`. A request that
 * accepts `application/x-ndjson` gets a line of JSON for each step instead: this, so far. The last
 * line has `ended: true`, or is a {@link Failure}.
 */
export interface Acted {
  readonly done: number;
  /** How many of the chosen changes or locks no longer existed. */
  readonly gone: number;
  /** How many locks remain because their owner is alive. */
  readonly standing: number;
  /** True if the request ended at its bound, and there are more. */
  readonly isMore?: boolean;
}

/** The answer with any status other than 2xx. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}
