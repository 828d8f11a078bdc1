import { equalBytes } from "../bytes.js";
import type { CellView, Position, RawCell, RawRow } from "../cell.js";
import { firstWanted, lastWantedBound, wantedRange, wantsAll } from "../columns.js";
import { type PageLimits, RangePageBuilder, viewBytes } from "../range-page.js";
import type { RangePage, RangeRead, RawPage, RawRead, RowPage, RowRead } from "../row-store.js";
import { type MemoryCell, rawVersions, viewCell } from "./cell.js";
import { cellKey, type MemoryTable, rowEnd } from "./table.js";

/**
 * After this many consecutive unwanted cells, a scan seeks to the next wanted position. Stepping
 * over fewer cells is cheaper than a seek.
 */
const missesBeforeSeek = 4;

interface Bounds {
  readonly low: string;
  readonly high: string | undefined;
}

export function bounds(start: Position | undefined, end: Position | undefined): Bounds {
  return {
    low: start === undefined ? "" : cellKey(start.row, start.column),
    high: end === undefined ? undefined : cellKey(end.row, end.column),
  };
}

/** A cell that a walk visits, and whether the read asks for it. */
interface Visit {
  readonly cell: MemoryCell;
  readonly isWanted: boolean;
}

/**
 * Yields the wanted cells from `low` to `high`, ascending. Also yields some unwanted cells, so that
 * the caller can count visited cells and end its page there.
 */
export function* ascending(
  table: MemoryTable,
  read: Pick<RangeRead, "columns">,
  { low, high }: Bounds,
): Generator<Visit, void> {
  const all = wantsAll(read.columns);
  let misses = 0;
  for (let from: string | undefined = low; from !== undefined; ) {
    const start: string = from;
    from = undefined;
    for (const cell of table.from(start)) {
      if (high !== undefined && cell.key >= high) return;
      if (all || wantedRange(read.columns, cell.column) !== undefined) {
        misses = 0;
        yield { cell, isWanted: true };
      } else if (++misses < missesBeforeSeek) {
        yield { cell, isWanted: false };
      } else {
        misses = 0;
        yield { cell, isWanted: false };
        const column = firstWanted(read.columns, cell.column);
        from = column === undefined ? rowEnd(cell.row) : cellKey(cell.row, column);
        break;
      }
    }
  }
}

/** Like {@link ascending}, in descending order. */
function* descending(
  table: MemoryTable,
  read: Pick<RangeRead, "columns">,
  { low, high }: Bounds,
): Generator<Visit, void> {
  let misses = 0;
  let below = high;
  for (let again = true; again; ) {
    again = false;
    for (const cell of table.below(below)) {
      if (cell.key < low) return;
      if (wantedRange(read.columns, cell.column) !== undefined) {
        misses = 0;
        yield { cell, isWanted: true };
      } else if (++misses < missesBeforeSeek) {
        yield { cell, isWanted: false };
      } else {
        misses = 0;
        yield { cell, isWanted: false };
        below = cellKey(cell.row, lastWantedBound(read.columns, cell.column));
        again = true;
        break;
      }
    }
  }
}

/** Reads one row. A wide row is divided over pages, by column. */
export function readRow(table: MemoryTable | undefined, read: RowRead, limits: PageLimits): RowPage {
  const cells: CellView[] = [];
  const only = read.columns[0];
  if (table === undefined) return { row: read.row, cells, next: undefined };
  if (read.columns.length === 1 && only !== undefined && "exact" in only) {
    const cell = table.get(cellKey(read.row, only.exact));
    const view = cell && viewCell(cell, read.at);
    if (view !== undefined) cells.push(view);
    return { row: read.row, cells, next: undefined };
  }
  const most = read.limit ?? limits.cells;
  const range = { low: cellKey(read.row, undefined), high: rowEnd(read.row) };
  let bytes = 0;
  for (const { cell, isWanted } of ascending(table, read, range)) {
    const view = isWanted ? viewCell(cell, read.at) : undefined;
    if (view === undefined) continue;
    if (cells.length >= most || bytes >= limits.bytes) return { row: read.row, cells, next: view.column };
    cells.push(view);
    bytes += viewBytes(view);
  }
  return { row: read.row, cells, next: undefined };
}

/** A page of rows. */
export function readRange(table: MemoryTable | undefined, read: RangeRead, limits: PageLimits): RangePage {
  if (table === undefined) return { rows: [], next: undefined };
  return read.reverse ? readDescending(table, read, limits) : readAscending(table, read, limits);
}

function readAscending(table: MemoryTable, read: RangeRead, limits: PageLimits): RangePage {
  const page = new RangePageBuilder(limits, read.limit);
  let row: Uint8Array | undefined;
  let scanned = 0;
  for (const { cell, isWanted } of ascending(table, read, bounds(read.start, read.end))) {
    scanned++;
    if (page.isFull(scanned)) return page.page({ row: cell.row, column: cell.column });
    if (!isWanted) continue;
    const view = viewCell(cell, read.at);
    if (view === undefined) continue;
    if (row === undefined || !equalBytes(row, cell.row)) {
      if (page.hasAllRows) return page.page({ row: cell.row });
      row = cell.row;
      page.begin(row);
    }
    page.add(view);
  }
  return page.page();
}

/**
 * Reads a page in descending order. The page ends between two rows, because only an ascending scan
 * can continue within a row.
 */
function readDescending(table: MemoryTable, read: RangeRead, limits: PageLimits): RangePage {
  const page = new RangePageBuilder(limits, read.limit);
  let row: Uint8Array | undefined;
  let isShown = false;
  let scanned = 0;
  for (const { cell, isWanted } of descending(table, read, bounds(read.start, read.end))) {
    scanned++;
    if (row === undefined || !equalBytes(row, cell.row)) {
      const isOver = page.hasAllRows || page.isFull(scanned);
      if (row !== undefined && isOver) return page.reversedPage({ row });
      row = cell.row;
      isShown = false;
    }
    if (!isWanted) continue;
    const view = viewCell(cell, read.at);
    if (view === undefined) continue;
    if (!isShown) page.begin(row);
    isShown = true;
    page.add(view);
  }
  return page.reversedPage();
}

/** A page of rows with every version. */
export function readRaw(table: MemoryTable | undefined, read: RawRead, limits: PageLimits): RawPage {
  const rows: RawRow[] = [];
  if (table === undefined) return { rows, next: undefined };
  const most = read.limit ?? Number.POSITIVE_INFINITY;
  let current: { row: Uint8Array; cells: RawCell[] } | undefined;
  let versions = 0;
  let bytes = 0;
  let scanned = 0;
  for (const { cell, isWanted } of ascending(table, read, bounds(read.start, read.end))) {
    scanned++;
    const full = versions >= limits.cells || bytes >= limits.bytes || scanned > limits.scanned;
    if (full) return { rows, next: { row: cell.row, column: cell.column } };
    if (!isWanted) continue;
    const found = rawVersions(
      cell,
      read.parts,
      read.from ?? 0,
      read.to ?? Number.POSITIVE_INFINITY,
      read.versions ?? Number.POSITIVE_INFINITY,
    );
    if (found.length === 0) continue;
    if (current === undefined || !equalBytes(current.row, cell.row)) {
      if (rows.length >= most) return { rows, next: { row: cell.row } };
      current = { row: cell.row, cells: [] };
      rows.push(current);
    }
    current.cells.push({ column: cell.column, versions: found });
    versions += found.length;
    for (const version of found) bytes += version.value.length;
  }
  return { rows, next: undefined };
}
