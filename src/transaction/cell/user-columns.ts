import type { Columns } from "../../store/index.js";

export const firstColumn: Uint8Array = new Uint8Array(0);
/** The first byte of the protocol's own columns. They sort after every user column. */
export const systemColumnMark = 0x7e;
export const endOfColumns: Uint8Array = Buffer.of(systemColumnMark);

/** Selects every user column, and what observers have recorded of its cells: that sorts after them. */
export const userAndObserverColumns: Columns = [{ start: firstColumn, end: Buffer.from("~b") }];

/** Selects every user column. */
export const userColumns: Columns = [{ start: firstColumn, end: endOfColumns }];

/** Whether a column is one of the program's, and not one of the protocol's own. */
export function isUserColumn(column: Uint8Array): boolean {
  return column[0] !== systemColumnMark;
}
