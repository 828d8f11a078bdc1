import { unlessAborted } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import {
  checkNotMilliseconds,
  dateToTimestamp,
  Snapshot,
  type TransactionContext,
} from "../../transaction/index.js";

/** The options of `db.snapshot`. Each has a default. */
export interface SnapshotOptions {
  /**
   * The moment to see: a timestamp (microseconds since 1970), or wall-clock time as a `Date`. It must lie within the
   * retention and not in the future. Default: everything committed so far.
   */
  readonly at?: number | Date | undefined;
  /** When this signal is aborted, the snapshot's reads reject. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a read-only view. Rejects for a moment in the future or below the safepoint. `cover` keeps
 * collection in other processes from overtaking a snapshot at a given moment.
 */
export async function takeSnapshot(
  context: TransactionContext,
  options: SnapshotOptions = {},
  cover?: (timestamp: number) => Promise<void> | undefined,
): Promise<Snapshot> {
  const known = await context.oracle.latest();
  // A client of the oracle may not know the latest timestamp that other processes received. If it
  // knows a timestamp at or above the requested moment, it need not ask the oracle.
  const isKnown = typeof options.at === "number" && options.at <= known;
  const latest = isKnown ? known : await currentTimestamp(context);
  const snapshot = new Snapshot(context, snapshotTimestamp(context, options.at, latest), {
    signal: options.signal,
  });
  try {
    await context.safepoint.check(snapshot.timestamp);
    const covered = options.at === undefined ? undefined : cover?.(snapshot.timestamp);
    if (covered !== undefined) await unlessAborted(covered, options.signal, "Opening a snapshot");
    return snapshot;
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

/**
 * Returns a timestamp that the oracle has already given out. At a later timestamp, a commit could
 * still change what the snapshot sees.
 */
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
  checkNotMilliseconds("at", at, latest);
  return Math.min(at, latest);
}
