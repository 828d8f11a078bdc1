import { decodeJson, encodeJson, isHex, isString, isWhole, nullable, record } from "../observer/index.js";
import { systemCell } from "../transaction/index.js";

/** What a pass through a table does. */
export type PassKind = "migrate" | "drop" | "expire";

/** How far a pass through a table has come. With it, a pass continues after any interruption. */
export interface PassRecord {
  /** Distinguishes the pass from a later one of the same kind and table. */
  readonly id: string;
  /** What the pass does: a pass that does something else begins at the table's first row. */
  readonly edition: string;
  /** The row and the column with which to continue. Undefined before the first page. */
  readonly row: Buffer | undefined;
  readonly column: Buffer | undefined;
  /** Cells visited, changed and failed so far. */
  readonly scanned: number;
  readonly changed: number;
  readonly failed: number;
}

interface StoredRecord extends Omit<PassRecord, "row" | "column"> {
  readonly row: string | null;
  readonly column: string | null;
}

const isStored = record<StoredRecord>({
  id: isString,
  edition: isString,
  row: nullable(isHex),
  column: nullable(isHex),
  scanned: isWhole,
  changed: isWhole,
  failed: isWhole,
});

/** What a pass goes through: a table, or the column that it drops. */
export interface PassTarget {
  readonly table: string;
  readonly column?: string | undefined;
}

/** The cell that has the record of a pass. */
export function passCell(kind: PassKind, { table, column }: PassTarget) {
  return systemCell(`pass/${kind}/${table}${column === undefined ? "" : `/${column}`}`, "state");
}

/** The record of a pass that has visited nothing. */
export function newPass(id: string, edition: string): PassRecord {
  return { id, edition, row: undefined, column: undefined, scanned: 0, changed: 0, failed: 0 };
}

/** The rows of all passes. */
export const passRows = { start: { row: Buffer.from("pass/") }, end: { row: Buffer.from("pass0") } };

/** The pass that a row belongs to. */
export function passOf(row: Uint8Array): PassTarget & { readonly kind: PassKind } {
  const [, kind, table, column] = Buffer.from(row).toString("utf8").split("/");
  return { kind: kind as PassKind, table: table!, ...(column === undefined ? {} : { column }) };
}

export function encodePass(pass: PassRecord): Buffer {
  const hex = (bytes: Buffer | undefined) => bytes?.toString("hex") ?? null;
  const stored: StoredRecord = { ...pass, row: hex(pass.row), column: hex(pass.column) };
  return encodeJson(stored);
}

export function decodePass(bytes: Uint8Array): PassRecord {
  const stored = decodeJson(bytes, "The record of a pass through a table", isStored);
  const buffer = (hex: string | null) => (hex === null ? undefined : Buffer.from(hex, "hex"));
  return { ...stored, row: buffer(stored.row), column: buffer(stored.column) };
}
