import type { FeedRecord, Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { allColumns, isRemote, type Position } from "../../store/index.js";
import { afterFeed, feedOfRow, feedTable, type TransactionContext } from "../../transaction/index.js";
import { raiseMark, readMark } from "./feed-marks.js";
import { isLeaseOver } from "./leases.js";
import { removeEntries } from "./remove-entries.js";
import { removeFeed, removeForgotten } from "./remove-feed.js";

/**
 * Removes the entries of all feeds that are older than the feed's retention, and the leased feeds
 * that nobody follows any more. Readers that began before see from the feed's floor that something
 * is missing. Also removes what is left of feeds whose removal was interrupted.
 */
export async function trimFeeds(registry: Registry, signal?: AbortSignal): Promise<void> {
  const view = await registry.fresh();
  const now = view.feedRecords.size === 0 ? 0 : await timeOfEntries(registry.context, signal);
  for (const { record } of view.feedRecords.values()) {
    if (await isLeaseOver(registry.context, record)) await removeFeed(registry, record.name, signal);
    else await trimFeed(registry, record, now, signal);
  }
  for await (const name of feedsWithEntries(registry.context)) {
    if (!view.feedRecords.has(name)) await removeForgotten(registry, name, view.at, signal);
  }
}

/**
 * Now, in microseconds, from which the retention counts. If timestamps come from another machine's
 * clock, and this process's is ahead of it, entries would go before they are read.
 */
async function timeOfEntries(
  { environment, oracle, store }: TransactionContext,
  signal: AbortSignal | undefined,
): Promise<number> {
  const now = environment.now() * 1_000;
  return isRemote(store) ? Math.min(now, await oracle.next({ signal })) : now;
}

async function trimFeed(
  { context, cacheMs }: Registry,
  { name, retentionMs, since, retainedSince }: FeedRecord,
  now: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const latest = await currentTimestamp(context);
  // A reader that does not know yet that the retention was lowered would not look at the floor.
  if (retainedSince > since && latest - retainedSince < 2 * cacheMs * 1_000) return;
  const floor = Math.min(latest, Math.floor(now - retentionMs * 1_000));
  if (floor <= 0) return;
  await raiseMark(context.store, name, "floor", floor);
  // The store may not have said whether it has moved the floor.
  const raised = await readMark(context.store, name, "floor");
  await removeEntries(context, name, Math.min(floor, raised), signal);
}

/** The names of the feeds that have entries, whether they are recorded or not. */
async function* feedsWithEntries({ store }: TransactionContext): AsyncGenerator<string, void, undefined> {
  const parts = ["lock", "write", "data"] as const;
  for (let from: Position | undefined = { row: new Uint8Array(0) }; from !== undefined; ) {
    const page = await store.readRaw({ table: feedTable, start: from, columns: allColumns, parts, limit: 1 });
    const [first] = page.rows;
    if (first === undefined) from = page.next;
    else {
      const name = feedOfRow(first.row);
      yield name;
      from = { row: afterFeed(name) };
    }
  }
}
