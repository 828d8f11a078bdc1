import { throwIfAborted } from "../../environment/index.js";
import { allColumns, type Mutation, type Position, pages, type RawRow } from "../../store/index.js";
import { feedOrders, feedRow, feedTable, type TransactionContext } from "../../transaction/index.js";

/** Rows that are removed at a time. It bounds the requests under way. */
const rowsAtOnce = 128;
const forever = Number.POSITIVE_INFINITY;

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
    for await (const page of pages(read, { row: feedRow(feed, order) })) {
      throwIfAborted(signal, "Removing old entries of a feed");
      const rows = page.rows.filter((row) => isOver(row, upTo));
      for (let at = 0; at < rows.length; at += rowsAtOnce) {
        await Promise.all(rows.slice(at, at + rowsAtOnce).map((row) => store.mutate(removal(row))));
      }
    }
  }
}

/** Whether nothing in a row is locked, or belongs to a commit after a timestamp. */
function isOver({ cells }: RawRow, upTo: number): boolean {
  return cells.every(({ versions }) =>
    versions.every(({ part, timestamp }) => part === "data" || (part === "write" && timestamp <= upTo)),
  );
}

function removal({ row, cells }: RawRow) {
  const mutations = cells.flatMap(({ column }): Mutation[] =>
    (["write", "data"] as const).map((part) => ({ type: "delete", column, part, from: 0, to: forever })),
  );
  return { table: feedTable, row, guards: [], mutations };
}
