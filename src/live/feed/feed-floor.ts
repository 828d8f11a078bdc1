import type { MaybePromise, RowPage, RowStore } from "../../store/index.js";
import { type CellAddress, putHint, systemCell } from "../../transaction/index.js";

const forever = Number.POSITIVE_INFINITY;

/**
 * The floor of a feed: the timestamp up to which its entries may have been removed. It only moves
 * forward, and it moves before the entries go. It is the timestamp of the cell's only version.
 */
export function floorCell(feed: string): CellAddress {
  return systemCell(`feed/${feed}`, "floor");
}

/** The floor of a feed. 0 if nothing was ever removed. */
export function readFloor(store: RowStore, feed: string): MaybePromise<number> {
  const { table, row, column } = floorCell(feed);
  const floorOf = ({ cells }: RowPage) => cells[0]?.write?.timestamp ?? 0;
  const page = store.readRow({ table, row, columns: [{ exact: column }], at: forever });
  return page instanceof Promise ? page.then(floorOf) : floorOf(page);
}

/** Moves the floor of a feed forward to `timestamp`. Has no effect if it is there already. */
export async function raiseFloor(store: RowStore, feed: string, timestamp: number): Promise<void> {
  const { table, row, column } = floorCell(feed);
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
