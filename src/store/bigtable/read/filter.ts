import { LimitExceededError } from "../../../errors/index.js";
import type { ColumnRange, Columns, Part } from "../../cell.js";
import { encodeReadRowsRequest, type RowFilter, type TimestampRange } from "../protos/codec.js";
import { timestampRange } from "./timestamps.js";

/** The maximum size of a filter that Bigtable accepts, in bytes. */
const maxFilterBytes = 20_480;

/** Shows nothing. */
export const blockAll: RowFilter = Object.freeze({ blockAllFilter: true });

/**
 * Lets through what passes all of `filters`, one after the other. A chain of Bigtable must have at
 * least two filters.
 */
export function chain(filters: readonly RowFilter[]): RowFilter {
  return filters.length === 1 ? filters[0]! : { chain: { filters } };
}

/** Lets through what any of `filters` lets through. */
export function interleave(filters: readonly RowFilter[]): RowFilter {
  if (filters.length === 0) return blockAll;
  return filters.length === 1 ? filters[0]! : { interleave: { filters } };
}

export function columnFilter(part: Part, column: Uint8Array): RowFilter {
  return {
    columnRangeFilter: {
      familyName: part,
      startQualifierClosed: column,
      startQualifierOpen: undefined,
      endQualifierClosed: column,
      endQualifierOpen: undefined,
    },
  };
}

function columnRangeFilter(part: Part, range: ColumnRange): RowFilter {
  if ("exact" in range) return columnFilter(part, range.exact);
  return {
    columnRangeFilter: { familyName: part, startQualifierClosed: range.start, endQualifierOpen: range.end },
  };
}

/** Lets through `columns` of `part`. */
export function columnsFilter(part: Part, columns: Columns): RowFilter {
  return interleave(columns.map((range) => columnRangeFilter(part, range)));
}

/** Appends a filter for timestamps. If the range is empty, nothing passes. */
export function withTimes(filters: RowFilter[], from: number, to: number): RowFilter {
  const range = timestampRange(from, to);
  if (range === "none") return blockAll;
  if (range !== undefined) filters.push(timesFilter(range));
  return chain(filters);
}

export function timesFilter(range: TimestampRange): RowFilter {
  return { timestampRangeFilter: range };
}

/** The maximum number of cells of a row that each branch lets through. Undefined: all. */
export type BranchLimit = number | undefined;

/**
 * The cells that a view of `columns` at `at` needs, in one atomic read of a row: the newest lock
 * and write record at or below `at`, whether there is a newer write record, and the newest data
 * cell. That data cell is nearly always the one that the write record names.
 */
export function viewFilter(columns: Columns, at: number, limit: BranchLimit): RowFilter {
  const upTo = (part: Part) => branch(part, columns, 0, at + 1, limit);
  const branches = [upTo("lock"), upTo("write"), upTo("data")];
  if (at < Number.MAX_SAFE_INTEGER) {
    const newer = branch("write", columns, Math.floor(at) + 1, Number.POSITIVE_INFINITY, limit);
    branches.push(chain([newer, { stripValueTransformer: true }]));
  }
  return interleave(branches);
}

/** The newest version in [from, to) of each column of `part`. */
function branch(part: Part, columns: Columns, from: number, to: number, limit: BranchLimit): RowFilter {
  const filters: RowFilter[] = [columnsFilter(part, columns)];
  const range = timestampRange(from, to);
  if (range === "none") return blockAll;
  if (range !== undefined) filters.push(timesFilter(range));
  filters.push({ cellsPerColumnLimitFilter: 1 });
  if (limit !== undefined) filters.push({ cellsPerRowLimitFilter: limit });
  return chain(filters);
}

/**
 * The versions in [from, to) of `columns` in `parts`. For each column and part, only the newest
 * `versions` of them.
 */
export function versionsFilter(
  columns: Columns,
  parts: readonly Part[],
  { from, to, versions }: { readonly from: number; readonly to: number; readonly versions: BranchLimit },
  limit: BranchLimit,
): RowFilter {
  return interleave(
    parts.map((part) => {
      const filters = [withTimes([columnsFilter(part, columns)], from, to)];
      if (versions !== undefined) filters.push({ cellsPerColumnLimitFilter: versions });
      if (limit !== undefined) filters.push({ cellsPerRowLimitFilter: limit });
      return chain(filters);
    }),
  );
}

/**
 * Throws if Bigtable would refuse the filter. `atMost` is an upper bound of the filter's bytes, and
 * cheaper to compute than their exact number.
 */
export function checkFilter(filter: RowFilter, atMost: number, what: string): RowFilter {
  if (atMost <= maxFilterBytes || filterBytes(filter) <= maxFilterBytes) return filter;
  throw new LimitExceededError(
    `${what} need a filter of ${filterBytes(filter)} bytes; Bigtable takes at most ${maxFilterBytes}. Use fewer or ` +
      "shorter columns at once.",
  );
}

function filterBytes(filter: RowFilter): number {
  return encodeReadRowsRequest({ filter }).length;
}

/**
 * An upper bound of the bytes that a filter needs to name a column, without the bytes of the column
 * itself.
 */
export const bytesBesideColumn = 80;

function rangeBytes(range: ColumnRange): number {
  return "exact" in range ? 2 * range.exact.length : range.start.length + (range.end?.length ?? 0);
}

/**
 * How many of the first `columns` fit into a filter that names each column `times` times. At least
 * 1.
 */
export function fittingColumns(columns: Columns, times: number): number {
  let left = maxFilterBytes - 500;
  for (let i = 0; i < columns.length; i++) {
    left -= times * (rangeBytes(columns[i]!) + bytesBesideColumn / 2);
    if (left < 0) return Math.max(1, i);
  }
  return columns.length;
}

/**
 * `columns`, if they fit into a filter that names each column `times` times. Otherwise one range
 * from the first column to the last.
 */
export function coveringColumns(columns: Columns, times: number): Columns {
  if (fittingColumns(columns, times) === columns.length) return columns;
  const first = columns[0]!;
  const last = columns.at(-1)!;
  const start = "exact" in first ? first.exact : first.start;
  const end = "exact" in last ? Buffer.concat([last.exact, Buffer.alloc(1)]) : last.end;
  return [{ start, end }];
}
