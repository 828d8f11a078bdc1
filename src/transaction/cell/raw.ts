import type { Part, PartVersion, RowStore } from "../../store/index.js";
import type { CellAddress } from "./address.js";
import { decodeWrite } from "./records.js";

/**
 * Reads versions of some parts of one cell in one atomic read: every version in [from, to), or the
 * newest `versions` of each part.
 */
export async function readCells(
  store: RowStore,
  cell: CellAddress,
  parts: readonly Part[],
  from: number,
  to: number,
  versions?: number,
): Promise<readonly PartVersion[]> {
  const page = await store.readRaw({
    table: cell.table,
    start: { row: cell.row, column: cell.column },
    end: { row: cell.row, column: after(cell.column) },
    columns: [{ exact: cell.column }],
    parts,
    from,
    to,
    versions,
    limit: 1,
  });
  return page.rows[0]?.cells[0]?.versions ?? [];
}

/** The value of a cell's newest write record, and the commit timestamp of that record. */
export interface NewestValue {
  readonly commit: number;
  readonly value: Uint8Array;
}

/**
 * The value of the newest write record of a cell, inline or in a data cell. Undefined if the cell
 * is absent or deleted.
 */
export async function newestValue(store: RowStore, cell: CellAddress): Promise<NewestValue | undefined> {
  const versions = await readCells(store, cell, ["write", "data"], 0, Number.POSITIVE_INFINITY);
  const newest = versions.find(({ part }) => part === "write");
  if (newest === undefined) return undefined;
  const record = decodeWrite(newest.value);
  if (record.kind === "delete") return undefined;
  const value =
    record.value ??
    versions.find(({ part, timestamp }) => part === "data" && timestamp === record.start)?.value;
  return value && { commit: newest.timestamp, value };
}

/** The smallest byte string greater than `bytes`. */
export function after(bytes: Uint8Array): Uint8Array {
  const next = Buffer.alloc(bytes.length + 1);
  next.set(bytes);
  return next;
}
