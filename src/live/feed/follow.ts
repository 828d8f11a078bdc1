import { PercolatorError } from "../../errors/index.js";
import { type Feed, type FeedColumn, familyRange } from "../../schema/index.js";
import { type ColumnRange, type Position, pages } from "../../store/index.js";
import { type BufferedWrite, SnapshotReader } from "../../transaction/index.js";
import {
  type ChangesOptions,
  changes,
  checkedBatch,
  FeedCursor,
  type FeedSource,
  nameOf,
} from "./changes.js";
import { changesOf, type FeedChange } from "./feed-change.js";

/** What `db.follow` tells. */
export type FollowEvent<C extends FeedColumn = FeedColumn> =
  /** A snapshot begins. Forget everything that was told before. */
  | { readonly type: "reset"; readonly timestamp: number }
  /** A cell of the snapshot. */
  | { readonly type: "cell"; readonly change: FeedChange<C> }
  /** The snapshot is complete. Changes after its timestamp follow. */
  | { readonly type: "ready"; readonly timestamp: number }
  | { readonly type: "change"; readonly change: FeedChange<C> };

/** Follows a feed from a snapshot on: see `Database.follow`. */
export async function* follow<C extends FeedColumn>(
  source: FeedSource,
  feed: Feed<C>,
  options: ChangesOptions = {},
): AsyncGenerator<FollowEvent<C>, void, undefined> {
  const { signal } = options;
  // A wrong one is refused before the snapshot, which may be long.
  const batch = checkedBatch(options.batch);
  let { onBegin } = options;
  let since = await keptSince(source, feed, options.since);
  for (;;) {
    if (since === undefined) {
      since = (await FeedCursor.open(source, nameOf(feed), undefined)).position;
      since = await source.clock.after(since - 1, signal);
      yield { type: "reset", timestamp: since };
      for await (const change of cellsOf(source, feed, since, signal)) yield { type: "cell", change };
      yield { type: "ready", timestamp: since };
    }
    let hasBegun = false;
    const begin = (timestamp: number) => {
      hasBegun = true;
      onBegin?.(timestamp);
      onBegin = undefined;
    };
    try {
      for await (const change of changes(source, feed, { since, signal, batch, onBegin: begin })) {
        yield { type: "change", change };
      }
    } catch (error) {
      // A snapshot that takes longer than the retention would begin again for ever.
      if (!hasBegun || !isStale(error)) throw error;
    }
    since = undefined;
  }
}

/** `since`, if the feed can still continue after it. */
async function keptSince(
  source: FeedSource,
  feed: Feed,
  since: number | undefined,
): Promise<number | undefined> {
  if (since === undefined) return undefined;
  try {
    return (await FeedCursor.open(source, nameOf(feed), since)).position;
  } catch (error) {
    if (isStale(error)) return undefined;
    throw error;
  }
}

function isStale(error: unknown): boolean {
  return error instanceof PercolatorError && error.code === "STALE_SNAPSHOT";
}

/** The cells that a feed follows, as of one timestamp. */
async function* cellsOf<C extends FeedColumn>(
  { registry }: FeedSource,
  feed: Feed<C>,
  timestamp: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FeedChange<C>, void, undefined> {
  const { context } = registry;
  const unregister = context.active.register(timestamp);
  try {
    const reader = new SnapshotReader(context, timestamp, { signal });
    for (const table of new Set(feed.columns.map((column) => column.table.name))) {
      const columns = feed.columns
        .filter((column) => column.table.name === table)
        .map(rangeOf)
        .sort(byStart);
      const read = (start?: Position) => reader.range({ table, start, columns });
      for await (const page of pages(read)) {
        for (const { row, cells } of page.rows) {
          const writes: BufferedWrite[] = cells
            .filter(({ value }) => value !== undefined)
            .map(({ column, value }) => ({ table, row, column, value }));
          const entry = {
            commitTimestamp: timestamp,
            label: undefined,
            observer: undefined,
            handled: [],
            writes,
          };
          for (const change of changesOf(entry, feed.columns)) yield change as FeedChange<C>;
        }
      }
    }
  } finally {
    unregister();
  }
}

function byStart(a: ColumnRange, b: ColumnRange): number {
  const start = (range: ColumnRange) => ("exact" in range ? range.exact : range.start);
  return Buffer.compare(start(a), start(b));
}

function rangeOf(column: FeedColumn): ColumnRange {
  return column.kind === "family" ? familyRange(column.name) : { exact: column.path };
}
