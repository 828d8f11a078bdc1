import { compareBytes } from "../../bytes.js";
import type { ColumnRange, Columns, Position } from "../../cell.js";

/** The part of `columns` from `start` (inclusive) to `end` (exclusive; undefined: to the last). */
export function clipColumns(
  columns: Columns,
  start: Uint8Array | undefined,
  end: Uint8Array | undefined,
): Columns {
  return columns.flatMap((range): ColumnRange[] => {
    if ("exact" in range) {
      const before = start !== undefined && compareBytes(range.exact, start) < 0;
      return before || (end !== undefined && compareBytes(range.exact, end) >= 0) ? [] : [range];
    }
    const low = start !== undefined && compareBytes(start, range.start) > 0 ? start : range.start;
    const high = lower(range.end, end);
    return high !== undefined && compareBytes(low, high) >= 0 ? [] : [{ start: low, end: high }];
  });
}

function lower(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareBytes(a, b) < 0 ? a : b;
}

/** A piece of a range: a part of one row, or a range of whole rows. */
export type Piece =
  | { readonly row: Uint8Array; readonly start: Uint8Array | undefined; readonly end: Uint8Array | undefined }
  | { readonly low: Uint8Array | undefined; readonly high: Uint8Array | undefined };

/**
 * Divides a range into pieces at the rows in which it begins and ends. The pieces are in ascending
 * order.
 */
export function divideRange(start: Position | undefined, end: Position | undefined): readonly Piece[] {
  const within = (place: Position | undefined) => (place?.column?.length ?? 0) > 0;
  const pieces: Piece[] = [];
  let low = start?.row;
  const high = end?.row;
  if (start !== undefined && within(start)) {
    const sameRow = high !== undefined && compareBytes(start.row, high) === 0;
    if (high !== undefined && compareBytes(start.row, high) > 0) return [];
    if (sameRow && !within(end)) return [];
    pieces.push({ row: start.row, start: start.column, end: sameRow ? end!.column : undefined });
    if (sameRow) return pieces;
    low = after(start.row);
  }
  if (low === undefined || high === undefined || compareBytes(low, high) < 0) pieces.push({ low, high });
  else if (compareBytes(low, high) > 0) return pieces;
  if (within(end)) pieces.push({ row: high!, start: undefined, end: end!.column });
  return pieces;
}

/** The first row that can come after `row`. */
export function after(row: Uint8Array): Uint8Array {
  return Buffer.concat([row, Buffer.alloc(1)]);
}
