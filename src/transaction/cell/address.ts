import { parsePath } from "../../schema/index.js";
import { byteString, equalBytes } from "../../store/index.js";

/** The place of a cell. The bytes are the encoded row key and the column's path. */
export interface CellAddress {
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
}

/** Whether two addresses are of one cell. */
export function isSameCell(a: CellAddress, b: CellAddress): boolean {
  return a.table === b.table && equalBytes(a.row, b.row) && equalBytes(a.column, b.column);
}

/** A key for maps of cells; ordered by table, row, column. */
export function addressKey(address: CellAddress): string {
  return `${rowKey(address.table, address.row)}${byteString(address.column)}`;
}

/** A key for maps of rows; no two rows share one, and the part before the row's bytes is of fixed form. */
export function rowKey(table: string, row: Uint8Array): string {
  return `${table}\0${String.fromCharCode(row.length)}${byteString(row)}`;
}

/** A row for messages: as text where it is text, else in hexadecimal. */
export function showRow(row: Uint8Array): string {
  const buffer = Buffer.from(row.buffer, row.byteOffset, row.byteLength);
  const text = buffer.toString("utf8");
  const printable = !/[\p{Cc}\uFFFD]/u.test(text);
  return printable ? text : `0x${buffer.toString("hex")}`;
}

/** A column's path for messages: `name` or `name:qualifier`. */
export function showColumn(path: Uint8Array): string {
  const { name, qualifier } = parsePath(path);
  return qualifier === undefined ? name : `${name}:${qualifier}`;
}

/** A cell for messages. `schemas` knows the kinds of keys; without it a composite key is shown in hexadecimal. */
export function showCell(
  { table, row, column }: CellAddress,
  schemas?: { showRow(table: string, row: Uint8Array): string },
): string {
  return `${table}/${schemas?.showRow(table, row) ?? showRow(row)}/${showColumn(column)}`;
}
