import type { Part, PartVersion, RowStore } from "../store/index.js";
import type { CellAddress } from "./address.js";

/** Every version of some parts of one cell in [from, to), in one atomic read. */
export async function readCells(
  store: RowStore,
  cell: CellAddress,
  parts: readonly Part[],
  from: number,
  to: number,
): Promise<readonly PartVersion[]> {
  const page = await store.readRaw({
    table: cell.table,
    start: { row: cell.row, column: cell.column },
    end: { row: cell.row, column: after(cell.column) },
    columns: [{ exact: cell.column }],
    parts,
    from,
    to,
    limit: 1,
  });
  return page.rows[0]?.cells[0]?.versions ?? [];
}

/** The first byte string after another. */
export function after(bytes: Uint8Array): Uint8Array {
  const next = Buffer.alloc(bytes.length + 1);
  next.set(bytes);
  return next;
}
