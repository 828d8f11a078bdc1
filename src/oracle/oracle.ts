/**
 * Gives out timestamps (section 2.3 of the paper): each answer is greater than every answer given
 * before the question was asked, to anybody. About a microsecond of wall time each; safe integers.
 */
export interface Oracle {
  /** A timestamp of the caller's own. */
  next(options?: { readonly signal?: AbortSignal | undefined }): Promise<number>;
  /**
   * A timestamp that the oracle has issued already, and no later than now: a snapshot may be taken
   * at it.
   */
  latest(): number | Promise<number>;
  /**
   * Requests that were sent for timestamps so far, where they cost some: fewer than timestamps,
   * since callers are gathered.
   */
  readonly requests?: number | undefined;
}
