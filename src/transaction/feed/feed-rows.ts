import { readTimestamp, stampBytes, writeTimestamp } from "../../store/index.js";

/**
 * The table of all feeds' entries. A row is the feed's name, NUL, a byte for the order, and a
 * timestamp. Its columns are the parts of the entry.
 */
export const feedTable = "~feeds";

/**
 * How the rows of a feed are ordered. The entry of a one-phase commit is in the row of its commit
 * timestamp. A two-phase commit does not know that timestamp when it locks the row, so the row has
 * the timestamp of an earlier *announcement*. A *marker* is no entry: it is the primary of a
 * two-phase transaction that writes nothing but an entry, in the row of its start timestamp.
 */
export type FeedOrder = "commit" | "announcement" | "marker";

const orders: Readonly<Record<FeedOrder, number>> = { commit: 1, announcement: 2, marker: 3 };
export const feedOrders: readonly FeedOrder[] = ["commit", "announcement", "marker"];

/**
 * A transaction commits at most this long after it announced its entry, in microseconds of the
 * oracle. An entry whose commit is later does not count. So a reader of the commits after a
 * timestamp finds all of their entries from this long before it.
 */
export const announcedUs = 2_000_000;

/** The row of an entry. Without a timestamp, the store stamps it. */
export function feedRow(feed: string, order: FeedOrder, timestamp = 0): Buffer {
  const name = Buffer.from(feed);
  const row = Buffer.alloc(name.length + 2 + stampBytes);
  row.set(name);
  row[name.length + 1] = orders[order];
  writeTimestamp(row, name.length + 2, Math.max(0, timestamp));
  return row;
}

/** The timestamp in the row of an entry. */
export function timestampOfFeedRow(row: Uint8Array): number {
  return readTimestamp(row, row.length - stampBytes);
}

/** The feed of an entry's row. */
export function feedOfRow(row: Uint8Array): string {
  return Buffer.from(row.subarray(0, row.length - 2 - stampBytes)).toString();
}

/** The first row after those of a feed. */
export function afterFeed(feed: string): Buffer {
  return Buffer.from(`${feed}\x01`);
}

/** The column of a part of an entry. */
export function feedColumn(part: number): Buffer {
  const column = Buffer.alloc(2);
  column.writeUInt16BE(part);
  return column;
}
