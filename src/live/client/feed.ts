import type { Column, Family, Feed } from "../../schema/index.js";
import { decodeJson } from "./json.js";
import type { LiveClientOptions, LiveSubscription } from "./options.js";
import { subscribe } from "./subscribe.js";

/** A committed change of one cell, or a cell of a snapshot. */
export interface ReceivedChange<K = unknown, V = unknown> {
  readonly commitTimestamp: number;
  readonly table: string;
  readonly row: K;
  /** The name of the column or family. */
  readonly column: string;
  /** The qualifier of a family's cell. Missing for a column. */
  readonly qualifier?: string;
  /** The new value. Missing if the cell was deleted. */
  readonly value?: V;
  readonly isDeleted: boolean;
  /** The label of the transaction, if it has one. */
  readonly label?: string;
  /** The observer whose run the transaction was, if it was one. */
  readonly observer?: string;
}

/** The changes of a feed, by its declaration: `ChangeOf<typeof orderFeed>`. */
export type ChangeOf<F> = F extends Feed<infer C> ? ColumnChangeOf<C> : ReceivedChange;
type ColumnChangeOf<C> =
  C extends Column<infer V, infer K, infer _>
    ? ReceivedChange<K, V>
    : C extends Family<infer V, infer K, infer _>
      ? ReceivedChange<K, V>
      : never;

/** What a feed sends. */
export type FeedEvent<C = ReceivedChange> =
  /** All changes of one transaction. */
  | { readonly type: "changes"; readonly changes: readonly C[]; readonly timestamp: number }
  /** A snapshot begins. Forget everything that came before. */
  | { readonly type: "reset"; readonly timestamp: number }
  /** Some cells of the snapshot. */
  | { readonly type: "cells"; readonly changes: readonly C[] }
  /** The snapshot is complete, or there is none. Changes after this timestamp follow. */
  | { readonly type: "ready"; readonly timestamp: number };

/** The options of {@link feed}. Each has a default. */
export interface FeedSubscriptionOptions<C> extends LiveClientOptions {
  /**
   * Called with each event. If it returns a promise, the next event comes after it. If it throws, the
   * event comes again after a pause, or the whole snapshot that it was in. Default: none. The
   * subscription then begins when a loop reads it.
   */
  readonly onEvent?: ((event: FeedEvent<C>) => unknown) | undefined;
}

/**
 * Subscribes to a feed that `feedResponse` of `percolatordb/live` serves at this address: every
 * transaction once and in order, also after a failure of the connection. To continue after a restart
 * of the program, keep the `timestamp` of the last `ready` or `changes` event that was handled, and
 * pass it as `lastEventId`. That of `reset` is none to continue at: its snapshot is still to come.
 *
 * `F` is the type of the server's feed, from which it takes the types of rows and values.
 *
 * @example
 * feed<typeof orderFeed>("/feeds/orders", {
 *   onEvent(event) {
 *     if (event.type === "reset") totals.clear();
 *     if (event.type === "cells" || event.type === "changes") {
 *       for (const { row, value } of event.changes) totals.set(row, value);
 *     }
 *   },
 * });
 */
export function feed<F = unknown>(
  url: string,
  options: FeedSubscriptionOptions<ChangeOf<F>> = {},
): LiveSubscription<FeedEvent<ChangeOf<F>>> {
  return subscribe(url, options, options.onEvent, (messages) =>
    messages.map(({ event, id, data }) => {
      const decoded = decodeJson(data) as object;
      const told = Array.isArray(decoded) ? { changes: decoded } : decoded;
      const timestamp = event === "" && { timestamp: Number(id) };
      return { id, value: { type: event || "changes", ...told, ...timestamp } as FeedEvent<ChangeOf<F>> };
    }),
  );
}
