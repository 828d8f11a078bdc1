import type { Database } from "../database/index.js";

/** How many changes of one kind wait. */
export interface Backlog {
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
  /** When the oldest counted change began to wait. */
  readonly oldest: Date | undefined;
}

/** Counts the pending and the parked changes of an observer, each up to a bound. */
export async function observerBacklogs(
  db: Database,
  observer: string,
  max: { readonly pending: number; readonly parked: number },
  signal: AbortSignal | undefined,
): Promise<{ readonly pending: Backlog; readonly parked: Backlog }> {
  const options = { observer, signal };
  return {
    pending: await countBacklog(db.pending(options), ({ since }) => since, max.pending),
    parked: await countBacklog(db.parked(options), ({ parkedAt }) => parkedAt, max.parked),
  };
}

/** Counts changes one by one, up to `max`. */
export async function countBacklog<T>(
  changes: AsyncIterable<T>,
  waitsSince: (change: T) => Date,
  max: number,
): Promise<Backlog> {
  let count = 0;
  let oldest: Date | undefined;
  for await (const change of changes) {
    if (count === max) return { count, more: true, oldest };
    count++;
    const since = waitsSince(change);
    if (oldest === undefined || since < oldest) oldest = since;
  }
  return { count, more: false, oldest };
}
