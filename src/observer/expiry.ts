/**
 * The largest difference between two clocks of a cluster, in milliseconds: an hour. With larger
 * ones, timestamps and displayed times would be wrong by as much.
 */
const maxClockErrorMs = 3_600_000;

/**
 * Whether an expiry, in wall time, is later than any that a process would write for a record that
 * lasts `maxMs`. A clock that was set to a wrong year for a moment leaves such a record. It is
 * ignored, since it would otherwise stay valid for years.
 */
export function isBeyondBelief(expires: number, maxMs: number, nowMs: number): boolean {
  return expires > nowMs + maxMs + maxClockErrorMs;
}
