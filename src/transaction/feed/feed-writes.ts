import { commitTimestamp, type Mutation, type RowMutation } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import { encodeWrite } from "../cell/records.js";
import type { FeedsOfColumns } from "../context.js";
import { encodeFeedEntry } from "./feed-entry.js";
import { feedColumn, feedRow, feedTable } from "./feed-rows.js";

/** The most bytes of one part of an entry. */
const partBytes = 1024 ** 2;

/** What an entry needs of a transaction at its commit. */
export interface FeedCommit {
  readonly start: number;
  readonly writes: readonly BufferedWrite[];
  readonly label: string | undefined;
  readonly observer: string | undefined;
}

/** The encoded entries that a transaction leaves, by feed. */
export function feedEntries(feeds: FeedsOfColumns, request: FeedCommit): ReadonlyMap<string, Buffer> {
  const writes = new Map<string, BufferedWrite[]>();
  for (const write of request.writes) {
    for (const feed of feeds.feedsOf(write.table, write.column)) {
      const known = writes.get(feed);
      if (known === undefined) writes.set(feed, [write]);
      else known.push(write);
    }
  }
  const { label, observer } = request;
  const entries = new Map<string, Buffer>();
  for (const [feed, its] of writes) entries.set(feed, encodeFeedEntry({ label, observer, writes: its }));
  return entries;
}

/**
 * The mutations of a one-phase commit that put its entries. The store stamps their rows, so no other
 * transaction can have the same row.
 */
export function stampedEntries(feeds: FeedsOfColumns, request: FeedCommit, most: number): RowMutation[] {
  const rows: RowMutation[] = [];
  for (const [feed, entry] of feedEntries(feeds, request)) {
    const row = feedRow(feed, "commit");
    const parts = divide(entry).map((part, index): Mutation => {
      const value = encodeWrite({ start: request.start, kind: "put", onePhase: true, value: part });
      return {
        type: "put",
        column: feedColumn(index),
        part: "write",
        timestamp: commitTimestamp,
        value,
      };
    });
    for (let from = 0; from < parts.length; from += most) {
      const mutations = parts.slice(from, from + most);
      rows.push({ table: feedTable, row, guards: [], mutations, stamped: true });
    }
  }
  return rows;
}

/** The cells in which a two-phase commit puts its entries, announced at a timestamp. */
export function announcedEntries(
  feeds: FeedsOfColumns,
  request: FeedCommit,
  announced: number,
): readonly BufferedWrite[] {
  return [...feedEntries(feeds, request)].flatMap(([feed, entry]) => {
    const row = feedRow(feed, "announcement", announced);
    return divide(entry).map((value, part) => ({ table: feedTable, row, column: feedColumn(part), value }));
  });
}

function divide(entry: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < entry.length; from += partBytes)
    parts.push(entry.subarray(from, from + partBytes));
  return parts;
}
