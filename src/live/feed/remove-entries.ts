import { throwIfAborted } from "../../environment/index.js";
import { allColumns, type Mutation, type Position, pages, type RawRow } from "../../store/index.js";
import { feedRange, feedTable, type TransactionContext } from "../../transaction/index.js";

/** Rows that are removed at a time. It bounds the requests under way. */
const rowsAtOnce = 128;
const forever = Number.POSITIVE_INFINITY;

/** Removes all entries of a feed. */
export async function removeEntries(
  context: TransactionContext,
  feed: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { start, end } = feedRange(feed);
  await removeRows(context, start, end, signal);
}

/** Removes rows of the table of entries. */
export async function removeRows(
  { store }: TransactionContext,
  from: Uint8Array,
  to: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  const parts = ["lock", "write", "data"] as const;
  const read = (start?: Position) =>
    store.readRaw({ table: feedTable, start, end: { row: to }, columns: allColumns, parts });
  for await (const page of pages(read, { row: from })) {
    throwIfAborted(signal, "Removing old entries of a feed");
    // A lock may still commit. The entry then goes in the next pass.
    const rows = page.rows.filter(({ cells }) =>
      cells.every(({ versions }) => versions.every(({ part }) => part !== "lock")),
    );
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      await Promise.all(rows.slice(at, at + rowsAtOnce).map((row) => store.mutate(removal(row))));
    }
  }
}

function removal({ row, cells }: RawRow) {
  const mutations = cells.flatMap(({ column }): Mutation[] =>
    (["write", "data"] as const).map((part) => ({ type: "delete", column, part, from: 0, to: forever })),
  );
  return { table: feedTable, row, guards: [], mutations };
}
