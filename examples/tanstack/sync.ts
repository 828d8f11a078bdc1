import type { SyncConfig } from "@tanstack/db";
import { feed, type LiveClientOptions, type ReceivedChange } from "percolatordb/live/client";

/** A row as an object of its columns. It is replaced when the row changes, and never changed itself. */
export interface Item {
  readonly row: unknown;
  readonly [column: string]: unknown;
}

/** Where the rows go: what TanStack DB gives the `sync` function of a collection. */
export type SyncTarget = Pick<
  Parameters<SyncConfig<Item, string>["sync"]>[0],
  "begin" | "write" | "commit" | "truncate" | "markReady" | "markError"
>;

export interface FollowedRows {
  readonly url: string;
  readonly table: string;
  readonly maxRows: number;
  readonly getKey: (item: Pick<Item, "row">) => string;
  readonly connection: LiveClientOptions;
}

/** Follows the rows of a table until it is stopped, or a failure is final. */
export function followRows(
  { url, table, maxRows, getKey, connection }: FollowedRows,
  target: SyncTarget,
): { readonly progress: Progress; readonly stop: () => void } {
  const progress = new Progress();
  /** The rows as of the last event. Those of the collection itself also have optimistic changes. */
  let rows = new Map<string, Item>();
  /** The rows of the last snapshot. Until it is complete, the collection keeps the old ones. */
  let snapshot: Map<string, Item> | undefined;

  const stop = () => {
    subscription.close();
    progress.end();
  };
  const fail = (error: unknown) => {
    target.markError(error);
    stop();
  };

  /** The rows of the table that the changes are about, as they are after all of the changes. */
  const changed = (before: ReadonlyMap<string, Item>, changes: readonly ReceivedChange[]) => {
    const after = new Map<string, Item>();
    for (const change of changes) {
      if (change.table !== table) continue;
      const key = getKey(change);
      after.set(key, withCell(after.get(key) ?? before.get(key) ?? { row: change.row }, change));
    }
    return after;
  };

  const addCells = (snapshot: Map<string, Item>, cells: readonly ReceivedChange[]) => {
    for (const [key, item] of changed(snapshot, cells)) snapshot.set(key, item);
    checkSize(snapshot);
  };

  const replaceRows = (complete: Map<string, Item>) => {
    rows = complete;
    target.begin();
    target.truncate({ markReady: false });
    for (const value of rows.values()) target.write({ type: "insert", value });
    target.commit();
    target.markReady();
  };

  const changeRows = (changes: readonly ReceivedChange[]) => {
    target.begin();
    for (const [key, value] of changed(rows, changes)) {
      if (isEmpty(value)) {
        rows.delete(key);
        target.write({ type: "delete", key });
      } else {
        const type = rows.has(key) ? "update" : "insert";
        rows.set(key, value);
        target.write({ type, value });
      }
    }
    target.commit();
    checkSize(rows);
  };

  const checkSize = ({ size }: ReadonlyMap<string, Item>) => {
    if (size <= maxRows) return;
    fail(
      new RangeError(
        `The table ${table} has more than ${maxRows} rows, the most of the collection. Raise \`maxRows\`, or serve a feed of fewer rows.`,
      ),
    );
  };

  const subscription = feed(url, {
    ...connection,
    onEvent(event) {
      if (event.type === "reset") {
        snapshot = new Map();
      } else if (event.type === "changes") {
        changeRows(event.changes);
        progress.reach(event.timestamp);
      } else if (snapshot === undefined) {
        fail(new Error(`${url} sends no snapshot. Serve it by \`feedResponse\` with \`snapshot: true\`.`));
      } else if (event.type === "cells") {
        addCells(snapshot, event.changes);
      } else {
        replaceRows(snapshot);
        progress.reach(event.timestamp);
      }
    },
    onError(error) {
      connection.onError?.(error);
      if (error.isFinal) fail(error);
    },
  });
  return { progress, stop };
}

/** The row after a change of one of its cells. A family is a map from qualifier to value. */
function withCell(item: Item, { column, qualifier, value, isDeleted }: ReceivedChange): Item {
  // A column of this name would take the place of the row's key.
  if (column === "row") return item;
  const { [column]: before, ...others } = item;
  if (qualifier === undefined) return isDeleted ? asItem(others) : asItem({ ...others, [column]: value });
  const cells = new Map(before as ReadonlyMap<string, unknown> | undefined);
  if (isDeleted) cells.delete(qualifier);
  else cells.set(qualifier, value);
  return asItem(cells.size === 0 ? others : { ...others, [column]: cells });
}

function asItem(columns: Readonly<Record<string, unknown>>): Item {
  return columns as Item;
}

/** A row without a value in any column is no row. */
function isEmpty(item: Item): boolean {
  return Object.keys(item).length === 1;
}

/** How far a collection has received its feed. */
export class Progress {
  #timestamp = 0;
  readonly #waiting = new Set<{ readonly timestamp: number; readonly resolve: () => void }>();

  reach(timestamp: number): void {
    // The event that has ended it is reported too.
    if (this.#timestamp === Number.POSITIVE_INFINITY) return;
    this.#timestamp = timestamp;
    for (const waiter of this.#waiting) {
      if (waiter.timestamp > this.#timestamp) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Nothing more will be received. */
  end(): void {
    this.reach(Number.POSITIVE_INFINITY);
  }

  /** Resolves when everything up to the timestamp was received, or nothing more will be. */
  reached(timestamp: number): Promise<void> {
    if (timestamp <= this.#timestamp) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.add({ timestamp, resolve }));
  }
}
