import { commitTimestamp, type Mutation, type RowMutation } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import type { CellAddress } from "../cell/address.js";
import { encodeWrite } from "../cell/records.js";
import type { FeedsOfColumns } from "../context.js";
import { encodeFeedEntry, type HandledCell } from "./feed-entry.js";
import { feedColumn, feedRow, feedTable } from "./feed-rows.js";

/** The most bytes of one part of an entry. */
const partBytes = 1024 ** 2;

/** What an entry needs of a transaction at its commit. */
export interface FeedCommit {
  readonly start: number;
  readonly writes: readonly BufferedWrite[];
  readonly signals: readonly CellAddress[];
  readonly handled: readonly HandledCell[];
  readonly label: string | undefined;
  readonly observer: string | undefined;
}

/** The encoded entries that a transaction leaves, by feed. */
export function feedEntries(feeds: FeedsOfColumns, request: FeedCommit): ReadonlyMap<string, Buffer> {
  const { label, observer, signals, handled } = request;
  const writes = new Map<string, BufferedWrite[]>();
  const enter = (feed: string, write: BufferedWrite) => {
    const known = writes.get(feed);
    if (known === undefined) writes.set(feed, [write]);
    else known.push(write);
  };
  for (const write of request.writes) {
    for (const feed of feeds.feedsOf(write.table, write.column)) {
      enter(feed, feeds.hasValues(feed) ? write : withoutValue(write));
    }
  }
  for (const feed of feeds.ofObserved) {
    for (const signal of signals) if (feeds.isObserved(signal)) enter(feed, withoutValue(signal));
    // A run leaves an entry even if it writes nothing observed: the entry says that it is done.
    if (handled.length > 0 && !writes.has(feed)) writes.set(feed, []);
  }
  const entries = new Map<string, Buffer>();
  for (const [feed, its] of writes) {
    const handledHere = feeds.ofObserved.includes(feed) ? handled : [];
    entries.set(feed, encodeFeedEntry({ label, observer, handled: handledHere, writes: its }));
  }
  return entries;
}

function withoutValue({ table, row, column }: CellAddress): BufferedWrite {
  return { table, row, column, value: undefined };
}

/**
 * The cell that becomes the primary of a two-phase transaction that writes nothing but its entries.
 * Undefined if it leaves none.
 */
export function markerWrite(feeds: FeedsOfColumns, request: FeedCommit): BufferedWrite | undefined {
  for (const feed of feedEntries(feeds, request).keys()) {
    const row = feedRow(feed, "marker", request.start);
    return { table: feedTable, row, column: feedColumn(0), value: noValue };
  }
  return undefined;
}

const noValue = new Uint8Array(0);

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
