import { type Backlog, countBacklog, type Overdue, overdueSchedules } from "../../dashboard/index.js";
import type { Database } from "../../database/index.js";

/** Changes that are counted one by one, at most so many of each observer or schedule. */
const maxCounted = 100_000;

/** Counts what waits for an observer. */
export function countPending(db: Database, observer: string, signal: AbortSignal): Promise<Backlog> {
  return countBacklog(db.pending({ observer, signal }), ({ since }) => since, maxCounted);
}

/** Counts what was given up on of an observer. */
export function countParked(db: Database, observer: string, signal: AbortSignal): Promise<Backlog> {
  return countBacklog(db.parked({ observer, signal }), ({ parkedAt }) => parkedAt, maxCounted);
}

/** What is overdue in each schedule. */
export function countOverdue(db: Database, nowMs: number, signal: AbortSignal): Promise<readonly Overdue[]> {
  return overdueSchedules(db, nowMs, signal, maxCounted);
}

/** A count for people, with a sign that there are more. */
export function showCount({ count, more }: Pick<Backlog, "count" | "more">): string {
  return more ? `${count}+` : String(count);
}
