import type { Feed, FeedColumn } from "../../schema/index.js";
import type { ChangesOptions, FeedChange, FollowEvent, LiveOptions, LiveRead, LiveValue } from "../index.js";

/** The part of a `Database` that {@link liveResponse} needs. */
export interface LiveDatabase {
  readonly isClosed: boolean;
  /** Yields the result of `read`, and a new one whenever something that it read has changed. */
  live<T>(read: LiveRead<T>, options?: LiveOptions): AsyncGenerator<LiveValue<T>, void, undefined>;
}

/** The part of a `Database` that {@link feedResponse} needs. */
export interface FeedDatabase {
  readonly isClosed: boolean;
  /** Yields the changes of a feed. */
  changes<C extends FeedColumn>(
    feed: Feed<C>,
    options?: ChangesOptions,
  ): AsyncGenerator<FeedChange<C>, void, undefined>;
  /** Yields the cells of a feed's columns, then their changes. */
  follow<C extends FeedColumn>(
    feed: Feed<C>,
    options?: ChangesOptions,
  ): AsyncGenerator<FollowEvent<C>, void, undefined>;
}

/**
 * Declares a live query. It returns the function unchanged. The client takes the type of its values
 * from the declaration.
 *
 * @example
 * export const topOrders = liveQuery(async (snapshot) => {
 *   const rows: string[] = [];
 *   for await (const { row } of snapshot.scan(orders.total, { limit: 10 })) rows.push(row);
 *   return rows;
 * });
 * // In the browser: live<typeof topOrders>("/live/top", { onValue: ({ value }) => show(value) });
 */
export function liveQuery<T>(read: LiveRead<T>): LiveRead<T> {
  return read;
}
