/**
 * How long a mover rests after a batch that was not full, so that more changes share the next one.
 * Most of what a move costs is the same for one change or many, and so is most of what a commit of
 * observers costs, whose runs begin together. A busy server makes moves slow, and so the rests long.
 */

/** A mover moves for a fifth of the time, so that SQL programs find the server free. */
const restPerMove = 4;
/** Less would move few changes at a time, and run their observers in small commits. */
const minRestMs = 60;
/** A change waits no longer than a reader of derived data notices. */
const maxRestMs = 250;

/** Milliseconds to rest after a move that took so long. */
export function restAfterMove(tookMs: number): number {
  return Math.min(maxRestMs, Math.max(minRestMs, restPerMove * tookMs));
}
