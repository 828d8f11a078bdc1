import type { Snapshot } from "../../transaction/index.js";

/** Whether a table has no cells in a snapshot. */
export async function hasNoCells(snapshot: Snapshot, table: string): Promise<boolean> {
  for await (const rows of snapshot.cells(table)) {
    if (rows.some(({ cells }) => cells.some((cell) => !cell.isDeleted))) return false;
  }
  return true;
}
