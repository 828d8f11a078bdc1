import type { Observer } from "../../observer/index.js";
import { allColumns, type RangePage, type RowStore } from "../../store/index.js";
import { hintTable } from "../../transaction/index.js";

/**
 * Whether there is a hint of one of these observers. Works only on a store that answers
 * synchronously.
 */
export function hasHints(store: RowStore, observers: readonly Observer[]): boolean {
  return observers.some(({ name }) => hintsBetween(store, `${name}\0`, `${name}\x01`));
}

/**
 * Whether there is a hint in these rows, given as strings of their bytes. Works only on a store
 * that answers synchronously.
 */
export function hintsBetween(store: RowStore, from: string, to: string | undefined): boolean {
  const page = store.readRange({
    table: hintTable,
    start: { row: Buffer.from(from, "latin1") },
    end: to === undefined ? undefined : { row: Buffer.from(to, "latin1") },
    columns: allColumns,
    at: Number.POSITIVE_INFINITY,
    limit: 1,
  }) as RangePage;
  return page.rows.length > 0;
}
