import type { CellAddress } from "../../transaction/index.js";
import { decodeJson, encodeJson, isString, isTime, isWhole, optional, record } from "../stored-json.js";
import type { FailureText } from "./failure.js";

/** The table that lists all parked changes, so that finding them needs no scan of the data. */
export const parkedTable = "~parked";

/** The record of a parked change. */
export interface ParkedEntry {
  /** Every change of the cell up to this start timestamp is parked. */
  readonly start: number;
  readonly attempts: number;
  /** Wall time, in milliseconds. */
  readonly parkedAt: number;
  readonly error: FailureText;
}

/**
 * The address of an observer's entry for a cell. Its row is the observer's name, NUL, and the
 * cell's row.
 */
export function parkedEntryCell(observer: string, cell: CellAddress): CellAddress {
  return { table: parkedTable, row: Buffer.concat([rowPrefix(observer), cell.row]), column: cell.column };
}

/** What the rows of an observer's entries begin with. */
export function rowPrefix(observer: string): Buffer {
  return Buffer.from(`${observer}\0`);
}

/** Splits the row of an entry into the observer and the cell's row. */
export function parseParkedRow(row: Uint8Array): { readonly observer: string; readonly row: Uint8Array } {
  const end = row.indexOf(0);
  return { observer: Buffer.from(row.subarray(0, end)).toString("latin1"), row: row.subarray(end + 1) };
}

const isParkedEntry = record<ParkedEntry>({
  start: isWhole,
  attempts: isWhole,
  parkedAt: isTime,
  error: record<FailureText>({
    name: isString,
    code: optional(isString),
    message: isString,
    stack: optional(isString),
  }),
});

export function encodeParkedEntry(entry: ParkedEntry): Buffer {
  return encodeJson(entry);
}

export function decodeParkedEntry(bytes: Uint8Array): ParkedEntry {
  return decodeJson(bytes, "The entry of a parked change", isParkedEntry);
}
