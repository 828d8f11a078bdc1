import { readTimestamp } from "../../bytes.js";
import type { CellView, Position } from "../../cell.js";
import { RangePageBuilder, viewBytes } from "../../range-page.js";
import type { RangePage, RangeRead, RowPage, RowRead } from "../../row-store.js";
import type { Databases } from "../record/databases.js";
import { CellAddress, Key, tablePrefix } from "../record/key.js";
import { flags, newestEnd, newestStart, openEntry } from "../record/layout.js";
import { type WalkBounds, walkBounds } from "./entry-walk.js";
import { isPlain, plainView, viewCell } from "./lookup.js";
import { CellScan } from "./scan.js";

/** The maximum size of one page. */
export const pageLimits = Object.freeze({
  cells: 1_000,
  bytes: 1 << 20,
  /**
   * Entries met, wanted or not. A page ends at this number, so that reading it does not block the
   * event loop.
   */
  scanned: 10_000,
});

/**
 * 32,000 bytes: LMDB returns values up to this length in its one buffer. Longer values lie in the
 * mapped file, and this code copies them.
 */
export const lentBytes = 32_000;

const cellKey = new Key();
const address = new CellAddress();
const noCells: readonly CellView[] = Object.freeze([]);
const noBytes = Buffer.alloc(0);

/**
 * Reads one row. A single exact column is one lookup. With `lend`, its value is lent, not copied.
 */
export function readRow(databases: Databases, read: RowRead, lend = true): RowPage {
  const only = read.columns[0]!;
  if (read.columns.length === 1 && "exact" in only) {
    const view = readCell(databases, tablePrefix(read.table), read.row, only.exact, read.at, lend);
    return { row: read.row, cells: view === undefined ? noCells : [view], next: undefined };
  }
  return readColumns(databases, read);
}

function readColumns(databases: Databases, read: RowRead): RowPage {
  const { table, row, at } = read;
  const prefix = tablePrefix(table);
  const most = read.limit ?? pageLimits.cells;
  const cells: CellView[] = [];
  let bytes = 0;
  const full = () => cells.length >= most || bytes >= pageLimits.bytes;
  const add = (view: CellView | undefined) => {
    if (view === undefined) return;
    cells.push(view);
    bytes += viewBytes(view);
  };
  for (const range of read.columns) {
    if ("exact" in range) {
      if (full()) return { row, cells, next: range.exact };
      add(readCell(databases, prefix, row, range.exact, at, false));
      continue;
    }
    walkBounds.low.cell(prefix, row, range.start);
    if (range.end === undefined) walkBounds.high.rowEnd(prefix, row);
    else walkBounds.high.cell(prefix, row, range.end);
    const scan = new CellScan(databases, prefix, [range], at, walkBounds);
    try {
      while (scan.next()) {
        const view = scannedView(databases, prefix, scan, at);
        if (view === undefined && scan.scanned < pageLimits.scanned) continue;
        if (full() || view === undefined) return { row, cells, next: scan.column };
        add(view);
      }
    } finally {
      scan.close();
    }
  }
  return { row, cells, next: undefined };
}

/** Reads one cell. `lend`: the value may be a view of LMDB's buffer. */
function readCell(
  databases: Databases,
  prefix: Uint8Array,
  row: Uint8Array,
  column: Uint8Array,
  at: number,
  lend: boolean,
): CellView | undefined {
  const entry = databases.cells.getBinaryFast(address.of(prefix, row, column));
  if (entry === undefined) return undefined;
  const length = openEntry(entry, entry.length, address.sum);
  const cellFlags = entry[0]!;
  const timestamp = (cellFlags & flags.write) === 0 ? -1 : readTimestamp(entry, 1);
  const start = newestStart(cellFlags);
  const value = timestamp <= at && length > start ? entry.subarray(start, newestEnd(entry, length)) : noBytes;
  if (isPlain(cellFlags) && timestamp <= at) {
    return plainView(column, timestamp, lend && length <= lentBytes ? value : Buffer.from(value));
  }
  const bytes = value.length === 0 ? noBytes : Buffer.from(value);
  const facts = { flags: cellFlags, timestamp, bytes };
  return viewCell(databases, cellKey.cell(prefix, row, column), column, facts, at);
}

function scannedView(
  databases: Databases,
  prefix: Uint8Array,
  scan: CellScan,
  at: number,
): CellView | undefined {
  if (isPlain(scan.flags) && scan.timestamp <= at) return plainView(scan.column, scan.timestamp, scan.bytes);
  return viewCell(databases, cellKey.cell(prefix, scan.row, scan.column), scan.column, scan, at);
}

/** Sets {@link walkBounds} to a range of positions. */
export function rangeBounds(
  prefix: Uint8Array,
  start: Position | undefined,
  end: Position | undefined,
): WalkBounds {
  if (start === undefined) walkBounds.low.tableStart(prefix);
  else walkBounds.low.cell(prefix, start.row, start.column);
  if (end === undefined) walkBounds.high.tableEnd(prefix);
  else walkBounds.high.cell(prefix, end.row, end.column);
  return walkBounds;
}

/** Reads a page of rows in either direction. */
export function readRange(databases: Databases, read: RangeRead): RangePage {
  const prefix = tablePrefix(read.table);
  const bounds = rangeBounds(prefix, read.start, read.end);
  if (bounds.low.compare(bounds.high) >= 0) return { rows: [], next: undefined };
  const scan = new CellScan(databases, prefix, read.columns, read.at, bounds, read.reverse === true);
  try {
    return read.reverse ? descend(databases, prefix, scan, read) : ascend(databases, prefix, scan, read);
  } finally {
    scan.close();
  }
}

function ascend(databases: Databases, prefix: Uint8Array, scan: CellScan, read: RangeRead): RangePage {
  const page = new RangePageBuilder(pageLimits, read.limit);
  let rowNumber = 0;
  while (scan.next()) {
    if (page.isFull(scan.scanned)) return page.page({ row: scan.row, column: scan.column });
    if (!scan.wanted) continue;
    const view = scannedView(databases, prefix, scan, read.at);
    if (view === undefined) continue;
    if (scan.rowNumber !== rowNumber) {
      if (page.hasAllRows) return page.page({ row: scan.row });
      rowNumber = scan.rowNumber;
      page.begin(scan.row);
    }
    page.add(view);
  }
  return page.page();
}

/**
 * Reads a page in descending order. The page ends between two rows, because only an ascending scan
 * can continue within a row.
 */
function descend(databases: Databases, prefix: Uint8Array, scan: CellScan, read: RangeRead): RangePage {
  const page = new RangePageBuilder(pageLimits, read.limit);
  let row: Uint8Array | undefined;
  let rowNumber = 0;
  let isShown = false;
  while (scan.next()) {
    if (scan.rowNumber !== rowNumber) {
      const isOver = page.hasAllRows || page.isFull(scan.scanned);
      if (row !== undefined && isOver) return page.reversedPage({ row });
      rowNumber = scan.rowNumber;
      row = scan.row;
      isShown = false;
    }
    if (!scan.wanted) continue;
    const view = scannedView(databases, prefix, scan, read.at);
    if (view === undefined) continue;
    if (!isShown) page.begin(row!);
    isShown = true;
    page.add(view);
  }
  return page.reversedPage();
}
