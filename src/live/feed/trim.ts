import type { FeedRecord, Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { announcedUs, feedRange, feedRow, type TransactionContext } from "../../transaction/index.js";
import { raiseMark } from "./feed-marks.js";
import { isLeaseOver } from "./leases.js";
import { removeRows } from "./remove-entries.js";
import { removeFeed } from "./remove-feed.js";

/**
 * Removes the entries of all feeds that are older than the feed's retention, and the leased feeds
 * that nobody follows any more. Readers that began before see from the feed's floor that something
 * is missing.
 */
export async function trimFeeds(registry: Registry, signal?: AbortSignal): Promise<void> {
  const { feedRecords } = await registry.fresh();
  for (const { record } of feedRecords.values()) {
    if (await isLeaseOver(registry.context, record)) await removeFeed(registry, record.name, signal);
    else await trimFeed(registry.context, record, signal);
  }
}

async function trimFeed(
  context: TransactionContext,
  { name, retentionMs }: FeedRecord,
  signal: AbortSignal | undefined,
): Promise<void> {
  const latest = await currentTimestamp(context);
  const floor = Math.min(latest, Math.floor((context.environment.now() - retentionMs) * 1_000));
  if (floor <= 0) return;
  await raiseMark(context.store, name, "floor", floor);
  const { start } = feedRange(name);
  await removeRows(context, start, feedRow(name, "commit", floor + 1), signal);
  const announced = feedRow(name, "announcement", Math.max(0, floor - announcedUs) + 1);
  await removeRows(context, feedRow(name, "announcement"), announced, signal);
  await removeRows(context, feedRow(name, "marker"), feedRow(name, "marker", floor + 1), signal);
}
