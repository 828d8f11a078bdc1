import type { CellAddress } from "./address.js";

/** Tables whose names begin with `~` are the protocol's own; nobody observes them, and user tables cannot be named so. */
export const systemTable = "~system";

/** Hints stand in a table of their own, keyed by observer, bucket, row and column. */
export const hintTable = "~hints";

export function isSystemTable(table: string): boolean {
  return table.startsWith("~");
}

/** A cell of the system table. */
export function systemCell(row: string, column: string): CellAddress {
  return { table: systemTable, row: Buffer.from(row), column: Buffer.from(column) };
}

/** The safepoint: its newest write record's timestamp is the safepoint itself. */
export const safepointCell = systemCell("safepoint", "at");
