import type { Database } from "../database/index.js";
import type { ObserverRecord } from "../observer/index.js";

/** How many changes of one kind wait. */
export interface Backlog {
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
  /** When the oldest counted change began to wait. */
  readonly oldest: Date | undefined;
}

/** An observer, with the changes that wait for it. */
export interface ObserverBacklog {
  readonly record: ObserverRecord;
  readonly pending: Backlog;
  readonly parked: Backlog;
}

/** Counts the pending and the parked changes of each observer, up to a bound. */
export async function observerBacklogs(
  db: Database,
  max: { readonly pending: number; readonly parked: number },
  signal: AbortSignal,
): Promise<readonly ObserverBacklog[]> {
  const backlogs: ObserverBacklog[] = [];
  for (const [observer, record] of await db.observers()) {
    const options = { observer, signal };
    const pending = await countBacklog(db.pending(options), ({ since }) => since, max.pending);
    const parked = await countBacklog(db.parked(options), ({ parkedAt }) => parkedAt, max.parked);
    backlogs.push({ record, pending, parked });
  }
  return backlogs;
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
