import type { CellView, Columns, RowPage } from "../../store/index.js";

/** Copies of the data cells, which may be lent. */
export function ownData(view: CellView): readonly { readonly timestamp: number; readonly value: Buffer }[] {
  return view.data.map((version) => ({ timestamp: version.timestamp, value: Buffer.from(version.value) }));
}

/** Whether every column that was asked for shows its newest write: then no collection can have touched the answer. */
export function isWhole(page: RowPage, columns: Columns): boolean {
  if (page.cells.length !== columns.length || !columns.every((column) => "exact" in column)) return false;
  return page.cells.every((cell) => cell.latest && cell.write !== undefined);
}
