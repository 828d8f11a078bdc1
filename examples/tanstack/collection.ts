import type { CollectionConfig, NonSingleResult } from "@tanstack/db";
import type { AnyTable, KeyOf, RowOf } from "percolatordb";
import type { LiveClientOptions } from "percolatordb/live/client";
import { type Mutation, sendMutations } from "./send.js";
import { followRows, type Item, type Progress } from "./sync.js";

/** A row of a table as an object: its key as `row`, and each column that holds a value. */
export type ItemOf<T extends AnyTable> = Flat<
  { readonly row: KeyOf<T> } & { readonly [N in keyof Omit<RowOf<T>, "row">]?: RowOf<T>[N] }
>;
type Flat<R> = { [N in keyof R]: R[N] };

interface Options<T extends AnyTable> extends Omit<LiveClientOptions, "lastEventId" | "signal"> {
  /** The name of the collection. Default: a random one. */
  readonly id?: string | undefined;
  /** The address of the feed, served by `feedResponse` with `snapshot: true`. */
  readonly url: string;
  /** The name of the table. Changes of the feed's other tables are left out. */
  readonly table: string;
  /** The address that takes mutations: see `writeMutations`. Default: none, a read-only collection. */
  readonly writeUrl?: string | undefined;
  /** The most rows of the collection. A larger table makes it fail. Default: 100,000. */
  readonly maxRows?: number | undefined;
  /** The collection's key for a row's key: a different one for each. Default: the row's key itself. */
  readonly getKey?: ((item: Pick<ItemOf<T>, "row" & keyof ItemOf<T>>) => string) | undefined;
}

/** The options of {@link percolatorCollection}. Tables with composite keys need `getKey`. */
export type PercolatorCollectionOptions<T extends AnyTable> = Options<T> &
  (KeyOf<T> extends string ? unknown : Required<Pick<Options<T>, "getKey">>);

/** What a collection has under `utils`. A type, because an interface is no `UtilsRecord`. */
export type PercolatorUtils = {
  /**
   * Resolves when the collection has received everything up to a commit timestamp, or has stopped
   * following the feed: it then begins with a new snapshot, which has the commit.
   */
  readonly received: (commitTimestamp: number) => Promise<void>;
};

/** The options of `createCollection` for the rows of `T`. */
export type PercolatorCollectionConfig<T extends AnyTable> = Omit<
  CollectionConfig<ItemOf<T>, string, never, PercolatorUtils>,
  "utils" | "schema"
> & { readonly schema?: never; readonly utils: PercolatorUtils } & NonSingleResult;

/**
 * The options of a TanStack DB collection that holds the rows of a table, and follows them by a
 * feed. Each transaction of the database is one commit of the collection.
 *
 * `T` is the type of the server's table. `import type` brings no code of the server into the browser.
 *
 * @example
 * const orders = createCollection(
 *   percolatorCollection<typeof tables.orders>({ url: "/feeds/orders", table: "orders", writeUrl: "/write" }),
 * );
 */
export function percolatorCollection<T extends AnyTable>(
  options: PercolatorCollectionOptions<T>,
): PercolatorCollectionConfig<T> {
  const { id, url, table, writeUrl, maxRows = 100_000, getKey: given, ...connection } = options;
  const getKey = (given ?? rowOf) as (item: Pick<Item, "row">) => string;
  let progress: Progress | undefined;
  const received = async (commitTimestamp: number) => await progress?.reached(commitTimestamp);
  const write = async ({ transaction }: { transaction: { mutations: readonly Mutation[] } }) => {
    const { mutations } = transaction;
    // The optimistic state is dropped when this resolves. Until then, TanStack DB holds back what
    // arrived, so that the row goes from one to the other without a moment in between.
    await received(await sendMutations(writeUrl!, table, mutations, connection));
  };
  const config: CollectionConfig<Item, string, never, PercolatorUtils> = {
    ...(id !== undefined && { id }),
    getKey,
    sync: {
      rowUpdateMode: "full",
      sync: (target) => {
        const following = followRows({ url, table, maxRows, getKey, connection }, target);
        progress = following.progress;
        return following.stop;
      },
    },
    ...(writeUrl !== undefined && { onInsert: write, onUpdate: write, onDelete: write }),
    utils: { received },
  };
  // Inside, an item is an object of unknown columns.
  return config as unknown as PercolatorCollectionConfig<T>;
}

function rowOf({ row }: Pick<Item, "row">): string {
  if (typeof row === "string") return row;
  throw new TypeError(
    `The row key ${JSON.stringify(row)} is not a string. Give \`percolatorCollection\` a \`getKey\` that makes a string of it.`,
  );
}
