import type { Observer } from "../../observer/index.js";
import { allColumns, type RangePage, type RowStore } from "../../store/index.js";
import { hintTable } from "../../transaction/index.js";

/** Whether a hint of one of these observers stands in a store that answers at once. */
export function hintsStand(store: RowStore, observers: readonly Observer[]): boolean {
  return observers.some((observer) => {
    const page = store.readRange({
      table: hintTable,
      start: { row: Buffer.from(`${observer.name}\0`) },
      end: { row: Buffer.from(`${observer.name}\x01`) },
      columns: allColumns,
      at: Number.POSITIVE_INFINITY,
      limit: 1,
    }) as RangePage;
    return page.rows.length > 0;
  });
}
