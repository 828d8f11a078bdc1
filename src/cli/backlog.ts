import type { Database } from "../database/index.js";

/** Changes that are counted one by one, at most so many of each observer. */
const mostCounted = 100_000;

/** What waits for an observer. */
export interface Backlog {
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
  /** Commit time of the oldest that was counted. */
  readonly oldest: Date | undefined;
}

/** Counts what waits for an observer. */
export async function countPending(db: Database, observer: string, signal: AbortSignal): Promise<Backlog> {
  let count = 0;
  let oldest: Date | undefined;
  for await (const { since } of db.pending({ observer, signal })) {
    if (count === mostCounted) return { count, more: true, oldest };
    count++;
    if (oldest === undefined || since < oldest) oldest = since;
  }
  return { count, more: false, oldest };
}

/** Counts what was given up on of an observer. */
export async function countParked(db: Database, observer: string, signal: AbortSignal): Promise<Backlog> {
  let count = 0;
  let oldest: Date | undefined;
  for await (const { parkedAt } of db.parked({ observer, signal })) {
    if (count === mostCounted) return { count, more: true, oldest };
    count++;
    if (oldest === undefined || parkedAt < oldest) oldest = parkedAt;
  }
  return { count, more: false, oldest };
}

/** A count for people, with a sign that there are more. */
export function showCount({ count, more }: Backlog): string {
  return more ? `${count}+` : String(count);
}
