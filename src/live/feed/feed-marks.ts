import type { FeedRecord } from "../../observer/index.js";
import type { MaybePromise, RowPage, RowStore } from "../../store/index.js";
import { type CellAddress, putHint, systemCell, type TransactionContext } from "../../transaction/index.js";

const forever = Number.POSITIVE_INFINITY;

/**
 * A timestamp of a feed that only moves forward: the timestamp of the only version of a cell.
 *
 * - The *floor*: entries of commits up to it may have been removed. It moves before the entries go.
 * - The *lease*: until then, somebody follows a leased feed. 0 for all other feeds.
 */
export type FeedMark = "floor" | "lease";

function markCell(feed: string, mark: FeedMark): CellAddress {
  return systemCell(`feed/${feed}`, mark);
}

/** A mark of a feed. 0 if it was never set. */
export function readMark(store: RowStore, feed: string, mark: FeedMark): MaybePromise<number> {
  const { table, row, column } = markCell(feed, mark);
  const markOf = ({ cells }: RowPage) => cells[0]?.write?.timestamp ?? 0;
  const page = store.readRow({ table, row, columns: [{ exact: column }], at: forever });
  return page instanceof Promise ? page.then(markOf) : markOf(page);
}

/**
 * Whether entries after `since` may have been removed before they were read up to `upTo`, so that the
 * floor must tell. That takes the whole retention. A slow reader may come back with an `upTo` that is
 * as old as its position, so the time counts too.
 */
export function mayBeTrimmed(
  { environment }: TransactionContext,
  { retentionMs }: FeedRecord,
  since: number,
  upTo: number,
): boolean {
  return Math.max(upTo, environment.now() * 1_000) - since > (retentionMs * 1_000) / 2;
}

/** Moves a mark of a feed forward to `timestamp`. Has no effect if it is there already. */
export async function raiseMark(
  store: RowStore,
  feed: string,
  mark: FeedMark,
  timestamp: number,
): Promise<void> {
  const { table, row, column } = markCell(feed, mark);
  await store.mutate({
    table,
    row,
    guards: [{ type: "absent", column, part: "write", from: timestamp, to: forever }],
    mutations: [
      putHint(column, timestamp),
      { type: "delete", column, part: "write", from: 0, to: timestamp },
    ],
  });
}
