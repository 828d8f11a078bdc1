import type { CellView, Columns, RowPage } from "../../store/index.js";

/** Copies the data cells of a view, which the store may only have lent. */
export function ownData(view: CellView): readonly { readonly timestamp: number; readonly value: Buffer }[] {
  return view.data.map((version) => ({ timestamp: version.timestamp, value: Buffer.from(version.value) }));
}

/**
 * Whether every requested column shows its newest write. Collection keeps the newest writes, so the
 * reader of such a page need not check the safepoint.
 */
export function isWhole(page: RowPage, columns: Columns): boolean {
  if (page.cells.length !== columns.length || !columns.every((column) => "exact" in column)) return false;
  return page.cells.every((cell) => cell.latest && cell.write !== undefined);
}
