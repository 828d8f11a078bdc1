import type { CellAddress } from "./address.js";

/**
 * The protocol's main table. Names that begin with `~` are reserved for the protocol's own tables.
 * No observer watches them.
 */
export const systemTable = "~system";

/** The table of all hints, keyed by observer, bucket, row and column. */
export const hintTable = "~hints";

export function isSystemTable(table: string): boolean {
  return table.startsWith("~");
}

/** A cell of the system table. */
export function systemCell(row: string, column: string): CellAddress {
  return { table: systemTable, row: Buffer.from(row), column: Buffer.from(column) };
}

/** The safepoint's cell. The timestamp of its newest write record is the safepoint. */
export const safepointCell = systemCell("safepoint", "at");
