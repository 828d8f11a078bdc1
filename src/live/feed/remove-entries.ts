import { throwIfAborted } from "../../environment/index.js";
import {
  allColumns,
  equalBytes,
  type Mutation,
  type Position,
  pages,
  type RawCell,
  type RowStore,
} from "../../store/index.js";
import { feedOrders, feedRow, feedTable, type TransactionContext } from "../../transaction/index.js";

/** Rows that are removed at a time. It bounds the requests under way. */
const rowsAtOnce = 128;
const forever = Number.POSITIVE_INFINITY;

/** The row of an entry. */
interface EntryRow {
  readonly row: Uint8Array;
  readonly columns: Uint8Array[];
  isOver: boolean;
}

/**
 * Removes the entries of a feed that belong to commits up to a timestamp. An entry that is still
 * locked stays, because it may yet commit. A later pass removes it.
 */
export async function removeEntries(
  { store }: TransactionContext,
  feed: string,
  upTo: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const parts = ["lock", "write", "data"] as const;
  // The row of an entry has a timestamp at or below its commit. So later rows belong to later commits.
  for (const order of feedOrders) {
    const end = { row: feedRow(feed, order, upTo + 1) };
    const read = (start?: Position) =>
      store.readRaw({ table: feedTable, start, end, columns: allColumns, parts });
    // A large entry is on several pages. It is removed at once, or readers would take it for damaged.
    let open: EntryRow | undefined;
    for await (const page of pages(read, { row: feedRow(feed, order) })) {
      throwIfAborted(signal, "Removing old entries of a feed");
      const whole: EntryRow[] = [];
      for (const { row, cells } of page.rows) {
        if (open === undefined || !equalBytes(open.row, row)) {
          if (open !== undefined) whole.push(open);
          open = { row: Buffer.from(row), columns: [], isOver: true };
        }
        for (const { column } of cells) open.columns.push(Buffer.from(column));
        open.isOver &&= isOver(cells, upTo);
      }
      if (open !== undefined && page.next?.column === undefined) {
        whole.push(open);
        open = undefined;
      }
      const rows = whole.filter((row) => row.isOver);
      for (let at = 0; at < rows.length; at += rowsAtOnce) {
        await Promise.all(rows.slice(at, at + rowsAtOnce).map((row) => removeEntry(store, row)));
      }
    }
  }
}

/** Whether no cell is locked, or belongs to a commit after a timestamp. */
function isOver(cells: readonly RawCell[], upTo: number): boolean {
  return cells.every(({ versions }) =>
    versions.every(({ part, timestamp }) => part === "data" || (part === "write" && timestamp <= upTo)),
  );
}

async function removeEntry(store: RowStore, { row, columns }: EntryRow): Promise<void> {
  const mutations = columns.flatMap((column): Mutation[] =>
    (["write", "data"] as const).map((part) => ({ type: "delete", column, part, from: 0, to: forever })),
  );
  const most = store.capabilities.mutationCells;
  // From the first part on: without it, a reader notices that the rest is no entry.
  for (let at = 0; at < mutations.length; at += most) {
    await store.mutate({ table: feedTable, row, guards: [], mutations: mutations.slice(at, at + most) });
  }
}
