/** How long a round of background work may last: longer while the backlog grows. */
import type { Database } from "percolatordb";
import { merge } from "./observers/merge.js";
import { shards } from "./tables.js";

/**
 * The backlog of an observer when its last round began, and the factor by which that round was
 * longer.
 */
export interface Pressure {
  readonly waiting: number;
  readonly longer: number;
}

/** The largest factor by which a round may last longer while the backlog grows. */
const maxLonger = 8;
export const maxCounted = 20_000;

export const noPressure: Pressure = { waiting: 0, longer: 1 };

/**
 * Returns the next round's factor. It rises while the backlog grows, so that the observer catches
 * up in the end.
 */
export function pressureOf(waiting: number, before: Pressure): Pressure {
  const grows = (waiting > before.waiting && before.waiting > 0) || waiting === maxCounted;
  const longer = grows ? Math.min(maxLonger, before.longer * 2) : Math.max(1, before.longer / 2);
  return { waiting, longer };
}

/**
 * Counts the backlog of an observer, up to {@link maxCounted}. For `merge` it counts the waiting
 * pages, because its due changes are whole shards. Soon every shard is due, and then only the
 * number of pages shows that the backlog grows.
 */
export async function countWaiting(db: Database, observer: string, signal?: AbortSignal): Promise<number> {
  let due = 0;
  for await (const _ of db.pending({ observer, signal })) if (++due === maxCounted) break;
  if (observer !== merge.name || due === 0) return due;
  return Math.max(due, await countPages(db, signal));
}

async function countPages(db: Database, signal: AbortSignal | undefined): Promise<number> {
  await using view = await db.snapshot({ signal });
  let pages = 0;
  for await (const { value } of view.scan(shards.waiting)) {
    pages += value.size;
    if (pages >= maxCounted) return maxCounted;
  }
  return pages;
}
