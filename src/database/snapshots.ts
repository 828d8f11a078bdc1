import { InvalidArgumentError } from "../errors/index.js";
import { currentTimestamp } from "../oracle/index.js";
import { dateToTimestamp, Snapshot, type TransactionContext } from "../transaction/index.js";

/** What `db.snapshot` takes. Everything has a default. */
export interface SnapshotOptions {
  /**
   * What to see: a timestamp, or a moment of wall time, within the retention and not in the future. Default: everything
   * that is committed.
   */
  readonly at?: number | Date | undefined;
  /** Gives reads of the snapshot up when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** A read-only view. Rejects for a moment in the future or below the safepoint. */
export async function takeSnapshot(
  context: TransactionContext,
  options: SnapshotOptions = {},
): Promise<Snapshot> {
  const known = await context.oracle.latest();
  // A client of the oracle may not know the latest that was given to anybody; what is older than what it knows needs no more.
  const isKnown = typeof options.at === "number" && options.at <= known;
  const latest = isKnown ? known : await currentTimestamp(context);
  const snapshot = new Snapshot(context, snapshotTimestamp(context, options.at, latest), {
    signal: options.signal,
  });
  try {
    await context.safepoint.check(snapshot.timestamp);
    return snapshot;
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

/** Never later than what the oracle has issued: a later commit could still come below it. */
function snapshotTimestamp(
  context: TransactionContext,
  at: number | Date | undefined,
  latest: number,
): number {
  if (at === undefined) return latest;
  const nowMs = context.environment.now();
  if (at instanceof Date) {
    const time = at.getTime();
    if (Number.isNaN(time)) throw new InvalidArgumentError("`at` is not a valid Date.");
    if (time > nowMs) {
      throw new InvalidArgumentError(
        `A snapshot cannot be taken at ${at.toISOString()}, which is in the future.`,
      );
    }
    return Math.max(0, Math.min(dateToTimestamp(at), latest));
  }
  if (!Number.isSafeInteger(at) || at < 0) {
    throw new InvalidArgumentError(
      `\`at\` must be a timestamp (microseconds since 1970, a whole number) or a Date, not ${String(at)}.`,
    );
  }
  if (at > latest && at > nowMs * 1_000) {
    throw new InvalidArgumentError(
      `A snapshot cannot be taken at ${at}, which is in the future (now: ${latest}).`,
    );
  }
  return Math.min(at, latest);
}
