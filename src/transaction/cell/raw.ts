import type { Part, PartVersion, RowStore } from "../../store/index.js";
import type { CellAddress } from "./address.js";
import { decodeWrite, type WriteRecord } from "./records.js";

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

/** A cell's newest write record, and its value. */
export interface NewestValue {
  readonly commit: number;
  /** The write record as it is stored. */
  readonly write: Uint8Array;
  readonly record: WriteRecord;
  readonly value: Uint8Array;
}

/**
 * The value of the newest write record of a cell, inline or in a data cell. Undefined if the cell
 * is absent or deleted. A cell can have a hundred thousand versions, so this reads only the newest.
 */
export async function newestValue(store: RowStore, cell: CellAddress): Promise<NewestValue | undefined> {
  const parts = ["write", "data"] as const;
  const versions = await readCells(store, cell, parts, 0, Number.POSITIVE_INFINITY, 1);
  const newest = versions.find(({ part }) => part === "write");
  if (newest === undefined) return undefined;
  const { kind, start } = decodeWrite(newest.value);
  if (kind === "delete") return undefined;
  // If the newest data cell is of a transaction that has not committed yet, the value is below it. A
  // write that has committed since began after this one, so its value is in this range too.
  return valueIn(versions) ?? valueIn(await readCells(store, cell, parts, start, Number.POSITIVE_INFINITY));
}

/** The value of the newest write record among `versions`, if its data cell is among them too. */
function valueIn(versions: readonly PartVersion[]): NewestValue | undefined {
  const newest = versions.find(({ part }) => part === "write");
  if (newest === undefined) return undefined;
  const record = decodeWrite(newest.value);
  if (record.kind === "delete") return undefined;
  const value =
    record.value ??
    versions.find(({ part, timestamp }) => part === "data" && timestamp === record.start)?.value;
  return value && { commit: newest.timestamp, write: newest.value, record, value };
}

/** The smallest byte string greater than `bytes`. */
export function after(bytes: Uint8Array): Uint8Array {
  const next = Buffer.alloc(bytes.length + 1);
  next.set(bytes);
  return next;
}
