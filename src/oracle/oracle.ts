/**
 * Gives out timestamps (section 2.3 of the paper). Each timestamp is greater than every one that
 * any process received before the call. Timestamps are safe integers, and close to the wall clock
 * in microseconds.
 */
export interface Oracle {
  /**
   * A timestamp that no other caller gets.
   *
   * @throws OracleUnavailableError if no timestamp came in time.
   */
  next(options?: { readonly signal?: AbortSignal | undefined }): Promise<number>;
  /** A timestamp that the oracle has already given out, for a snapshot. */
  latest(): number | Promise<number>;
  /**
   * How many requests for timestamps were sent so far. One request serves many callers, so there
   * are fewer requests than timestamps. Undefined if timestamps need no requests.
   */
  readonly requests?: number | undefined;
}
