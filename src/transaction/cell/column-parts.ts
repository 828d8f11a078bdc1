import type { ColumnRange, Columns } from "../../store/index.js";

/** The part of a selection of columns below `end`, for example the part that a page has covered. */
export function columnsBelow(columns: Columns, end: Uint8Array): Columns {
  return columns.flatMap((column): ColumnRange[] => {
    if ("exact" in column) return Buffer.compare(column.exact, end) < 0 ? [column] : [];
    if (Buffer.compare(column.start, end) >= 0) return [];
    const endsBefore = column.end !== undefined && Buffer.compare(column.end, end) <= 0;
    return [endsBefore ? column : { start: column.start, end }];
  });
}

/** The part of a selection of columns at or above `start`. */
export function columnsFrom(columns: Columns, start: Uint8Array): Columns {
  return columns.flatMap((column): ColumnRange[] => {
    if ("exact" in column) return Buffer.compare(column.exact, start) < 0 ? [] : [column];
    if (column.end !== undefined && Buffer.compare(column.end, start) <= 0) return [];
    return [Buffer.compare(column.start, start) < 0 ? { start, end: column.end } : column];
  });
}
