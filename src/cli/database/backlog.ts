import { type Backlog, countBacklog, type Overdue, overdueSchedules } from "../../dashboard/index.js";
import type { Database } from "../../database/index.js";

/**
 * The most changes that a command counts for one observer or schedule. Counting reads each change,
 * so a longer count would take too long.
 */
const maxCounted = 100_000;

/** Counts the changes that wait for an observer. */
export function countPending(db: Database, observer: string, signal: AbortSignal): Promise<Backlog> {
  return countBacklog(db.pending({ observer, signal }), ({ since }) => since, maxCounted);
}

/** Counts the parked changes of an observer. */
export function countParked(db: Database, observer: string, signal: AbortSignal): Promise<Backlog> {
  return countBacklog(db.parked({ observer, signal }), ({ parkedAt }) => parkedAt, maxCounted);
}

/** Counts the overdue changes of each schedule. */
export function countOverdue(db: Database, nowMs: number, signal: AbortSignal): Promise<readonly Overdue[]> {
  return overdueSchedules(db, nowMs, signal, maxCounted);
}

/** Formats a count for people, with a `+` if there are more. */
export function showCount({ count, more }: Pick<Backlog, "count" | "more">): string {
  return more ? `${count}+` : String(count);
}
