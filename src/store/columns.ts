import { compareBytes, successor } from "./bytes.js";
import type { ColumnRange, Columns } from "./cell.js";

/**
 * Where `column` is relative to `range`: 0 if inside, less than 0 if before it, more than 0 if
 * after it.
 */
function place(range: ColumnRange, column: Uint8Array): number {
  if ("exact" in range) return compareBytes(column, range.exact);
  if (compareBytes(column, range.start) < 0) return -1;
  return range.end !== undefined && compareBytes(column, range.end) >= 0 ? 1 : 0;
}

/** The range of `columns` that contains `column`. Undefined if none does. */
export function wantedRange(columns: Columns, column: Uint8Array): ColumnRange | undefined {
  for (const range of columns) {
    const at = place(range, column);
    if (at === 0) return range;
    if (at < 0) return undefined;
  }
  return undefined;
}

/**
 * The first position at or after `column` that may be wanted. Undefined if the row has no further
 * wanted column.
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
 * The exclusive bound from which a descending search continues, if it has reached a `column` that
 * is not wanted. All wanted columns below `column` sort before the bound. Undefined if there is no
 * wanted column below `column`.
 */
export function lastWantedBound(columns: Columns, column: Uint8Array): Uint8Array | undefined {
  let bound: Uint8Array | undefined;
  for (const range of columns) {
    if (place(range, column) <= 0) break;
    bound = "exact" in range ? successor(range.exact) : range.end;
  }
  return bound;
}

/** Whether all columns are wanted, so a read need not compare them. */
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
