import { throwIfAborted } from "../../environment/index.js";
import type { FeedRecord, Registry } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { allColumns, type Mutation, type Position, pages, type RawRow } from "../../store/index.js";
import {
  announcedUs,
  feedRange,
  feedRow,
  feedTable,
  type TransactionContext,
} from "../../transaction/index.js";
import { raiseFloor } from "./feed-floor.js";

/** Rows that are removed at a time. It bounds the requests under way. */
const rowsAtOnce = 128;
const forever = Number.POSITIVE_INFINITY;

/**
 * Removes the entries of all feeds that are older than the feed's retention. Readers that began
 * before see from the feed's floor that something is missing.
 */
export async function trimFeeds(registry: Registry, signal?: AbortSignal): Promise<void> {
  const { feedRecords } = await registry.fresh();
  for (const { record } of feedRecords.values()) await trimFeed(registry.context, record, signal);
}

async function trimFeed(
  context: TransactionContext,
  { name, retentionMs }: FeedRecord,
  signal: AbortSignal | undefined,
): Promise<void> {
  const latest = await currentTimestamp(context);
  const floor = Math.min(latest, Math.floor((context.environment.now() - retentionMs) * 1_000));
  if (floor <= 0) return;
  await raiseFloor(context.store, name, floor);
  const { start } = feedRange(name);
  await removeRows(context, start, feedRow(name, "commit", floor + 1), signal);
  const announced = feedRow(name, "announcement", Math.max(0, floor - announcedUs) + 1);
  await removeRows(context, feedRow(name, "announcement"), announced, signal);
}

/** Removes all entries of a feed. */
export async function removeEntries(
  context: TransactionContext,
  feed: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { start, end } = feedRange(feed);
  await removeRows(context, start, end, signal);
}

async function removeRows(
  { store }: TransactionContext,
  from: Uint8Array,
  to: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  const parts = ["lock", "write", "data"] as const;
  const read = (start?: Position) =>
    store.readRaw({ table: feedTable, start, end: { row: to }, columns: allColumns, parts });
  for await (const page of pages(read, { row: from })) {
    throwIfAborted(signal, "Removing old entries of a feed");
    // A lock may still commit. The entry then goes in the next pass.
    const rows = page.rows.filter(({ cells }) =>
      cells.every(({ versions }) => versions.every(({ part }) => part !== "lock")),
    );
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      await Promise.all(rows.slice(at, at + rowsAtOnce).map((row) => store.mutate(removal(row))));
    }
  }
}

function removal({ row, cells }: RawRow) {
  const mutations = cells.flatMap(({ column }): Mutation[] =>
    (["write", "data"] as const).map((part) => ({ type: "delete", column, part, from: 0, to: forever })),
  );
  return { table: feedTable, row, guards: [], mutations };
}
