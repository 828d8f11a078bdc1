import { compareBytes, successor } from "./bytes.js";
import type { ColumnRange, Columns } from "./cell.js";

/** Whether `column` is in `range`: 0, or less than 0 where it comes before it, more where after. */
function place(range: ColumnRange, column: Uint8Array): number {
  if ("exact" in range) return compareBytes(column, range.exact);
  if (compareBytes(column, range.start) < 0) return -1;
  return range.end !== undefined && compareBytes(column, range.end) >= 0 ? 1 : 0;
}

/** The range of `columns` that holds `column`, or undefined. */
export function wantedRange(columns: Columns, column: Uint8Array): ColumnRange | undefined {
  for (const range of columns) {
    const at = place(range, column);
    if (at === 0) return range;
    if (at < 0) return undefined;
  }
  return undefined;
}

/**
 * The first place at or after `column` that can be wanted; undefined where none is left in the row.
 */
export function firstWanted(columns: Columns, column: Uint8Array): Uint8Array | undefined {
  for (const range of columns) {
    const at = place(range, column);
    if (at === 0) return column;
    if (at < 0) return "exact" in range ? range.exact : range.start;
  }
  return undefined;
}

/**
 * Where to look downwards from `column`, which is not wanted: the place that all wanted columns
 * below it come before; undefined where none is left in the row.
 */
export function lastWantedBound(columns: Columns, column: Uint8Array): Uint8Array | undefined {
  let bound: Uint8Array | undefined;
  for (const range of columns) {
    if (place(range, column) <= 0) break;
    bound = "exact" in range ? successor(range.exact) : range.end;
  }
  return bound;
}

/** Whether all columns are wanted, so that nothing need be compared. */
export function wantsAll(columns: Columns): boolean {
  const first = columns[0];
  return (
    columns.length === 1 &&
    first !== undefined &&
    !("exact" in first) &&
    first.start.length === 0 &&
    first.end === undefined
  );
}
