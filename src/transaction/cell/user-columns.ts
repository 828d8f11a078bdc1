import type { Columns } from "../../store/index.js";

export const firstColumn: Uint8Array = new Uint8Array(0);
/** The protocol's own columns sort after every user column. */
export const endOfColumns: Uint8Array = Buffer.from("~");

/** Selects every user column. */
export const userColumns: Columns = [{ start: firstColumn, end: endOfColumns }];
