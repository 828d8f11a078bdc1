import { type PathParts, parsePath } from "../../schema/index.js";
import { byteString, equalBytes } from "../../store/index.js";

/**
 * The place of a cell. `row` is the encoded row key, and `column` the encoded path of the column.
 */
export interface CellAddress {
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
}

/** Whether two addresses name the same cell. */
export function isSameCell(a: CellAddress, b: CellAddress): boolean {
  return a.table === b.table && equalBytes(a.row, b.row) && equalBytes(a.column, b.column);
}

/** A string key for maps of cells. Keys of one row share their beginning. */
export function addressKey(address: CellAddress): string {
  return `${rowKey(address.table, address.row)}${byteString(address.column)}`;
}

/**
 * A string key for maps of rows. No two rows have the same key, and no row's key begins another's:
 * the table's name ends with NUL, and the length of the row's bytes follows.
 */
export function rowKey(table: string, row: Uint8Array): string {
  return `${table}\0${String.fromCharCode(row.length)}${byteString(row)}`;
}

/** Shows a row in messages: as text if its bytes are printable text, otherwise in hexadecimal. */
export function showRow(row: Uint8Array): string {
  const buffer = Buffer.from(row.buffer, row.byteOffset, row.byteLength);
  const text = buffer.toString("utf8");
  const printable = !/[\p{Cc}\uFFFD]/u.test(text);
  return printable ? text : `0x${buffer.toString("hex")}`;
}

/**
 * Shows a column's path in messages: `name` or `name:qualifier`, or in hexadecimal if the bytes are
 * not a path, as of a damaged cell and of the later parts of a large entry in a feed.
 */
export function showColumn(path: Uint8Array): string {
  let parts: PathParts;
  try {
    parts = parsePath(path);
  } catch {
    return `0x${Buffer.from(path).toString("hex")}`;
  }
  const { name, qualifier } = parts;
  return qualifier === undefined ? name : `${name}:${qualifier}`;
}

/**
 * Shows a cell in messages. `schemas` knows the kinds of keys. Without it a composite key appears
 * in hexadecimal.
 */
export function showCell(
  { table, row, column }: CellAddress,
  schemas?: { showRow(table: string, row: Uint8Array): string },
): string {
  return `${table}/${schemas?.showRow(table, row) ?? showRow(row)}/${showColumn(column)}`;
}
