/** How long a round of background work may last: longer while ever more waits. */
import type { Database } from "percolatordb";
import { merge } from "./observers/merge.js";
import { shards } from "./tables.js";

/** What waited when the last round of an observer began, and how many times as long that was. */
export interface Pressure {
  readonly waiting: number;
  readonly longer: number;
}

/**
 * While the backlog grows, which is counted up to a limit, a round may last this many times as
 * long.
 */
const maxLonger = 8;
export const maxCounted = 20_000;

export const noPressure: Pressure = { waiting: 0, longer: 1 };

/**
 * How many times as long an observer is worked on: longer as long as ever more waits, so that there
 * is an end to it.
 */
export function pressureOf(waiting: number, before: Pressure): Pressure {
  const grows = (waiting > before.waiting && before.waiting > 0) || waiting === maxCounted;
  const longer = grows ? Math.min(maxLonger, before.longer * 2) : Math.max(1, before.longer / 2);
  return { waiting, longer };
}

/**
 * How much waits for an observer. Of merging these are pages: what is due are shards, which are
 * soon all there are, while ever more pages wait in them.
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
  for await (const { value } of view.scan(shards.pending)) {
    pages += value.size;
    if (pages >= maxCounted) return maxCounted;
  }
  return pages;
}
