import type { CellAddress } from "./address.js";

/**
 * The protocol's own tables have names that begin with `~`. User tables cannot, and no observer
 * watches these.
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
