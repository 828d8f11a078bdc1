/**
 * No two clocks of one cluster are so far apart, in milliseconds: timestamps and times of people
 * would be off by as much.
 */
const maxClockErrorMs = 3_600_000;

/**
 * Whether an expiry, in wall time, is later than any process writes whose records last for `maxMs`.
 * A clock that was set to a wrong year for a moment leaves such a record; it is not believed, or it
 * would count for as long as it says.
 */
export function isBeyondBelief(expires: number, maxMs: number, nowMs: number): boolean {
  return expires > nowMs + maxMs + maxClockErrorMs;
}
