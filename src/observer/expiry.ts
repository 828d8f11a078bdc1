/**
 * The largest difference between two clocks of a cluster at which an expiry is still believed, in
 * milliseconds: an hour. With a larger difference, timestamps and displayed times would be wrong by
 * that difference too.
 */
const maxClockErrorMs = 3_600_000;

/**
 * Whether an expiry, in wall time, is later than any that a process with a correct clock would
 * write for a record that lasts `maxMs`. A process writes such an expiry if its clock was briefly
 * set to a wrong year. Readers ignore the record, since it would otherwise stay valid for years.
 */
export function isBeyondBelief(expires: number, maxMs: number, nowMs: number): boolean {
  return expires > nowMs + maxMs + maxClockErrorMs;
}
