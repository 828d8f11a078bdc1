import type { Columns } from "../../store/index.js";

export const firstColumn: Uint8Array = new Uint8Array(0);
/** After every column of a user stand the protocol's own. */
export const endOfColumns: Uint8Array = Buffer.from("~");

/** Every column of a user. */
export const userColumns: Columns = [{ start: firstColumn, end: endOfColumns }];
