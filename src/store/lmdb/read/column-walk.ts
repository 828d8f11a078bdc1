import { compareBytes, readTimestamp, successor } from "../../bytes.js";
import type { Position } from "../../cell.js";
import type { TakeCell, ZeroCopyPage, ZeroCopyRead } from "../../zero-copy.js";
import type { Databases } from "../record/databases.js";
import { Key, tablePrefix } from "../record/key.js";
import { flags, newestEnd, newestStart, openEntry } from "../record/layout.js";
import { ColumnScan } from "./column-scan.js";
import { viewCell } from "./lookup.js";
import { pageLimits, rangeBounds } from "./read.js";

const cellKey = new Key();
const noBytes = Buffer.alloc(0);
const notWritten = 0;
const held = flags.lock | flags.data | flags.far;

/** Passes the cells of one column to a callback: the LMDB side of `ZeroCopyStore.column`. */
export function walkColumn(databases: Databases, read: ZeroCopyRead, take: TakeCell): ZeroCopyPage {
  const prefix = tablePrefix(read.table);
  const bounds = rangeBounds(prefix, read.start, read.end);
  if (bounds.low.compare(bounds.high) >= 0) return { next: undefined, stopped: false, cells: 0 };
  const scan = new ColumnScan(databases, prefix, read.column, bounds, read.reverse);
  try {
    return handOver(databases, prefix, scan, read, take);
  } finally {
    scan.close();
  }
}

function handOver(
  databases: Databases,
  prefix: Uint8Array,
  scan: ColumnScan,
  read: ZeroCopyRead,
  take: TakeCell,
): ZeroCopyPage {
  const most = Math.min(read.limit, pageLimits.cells);
  let cells = 0;
  let bytes = 0;
  while (scan.next()) {
    if (cells >= most || bytes >= pageLimits.bytes || scan.scanned > pageLimits.scanned) {
      return { next: placeOf(scan, read), stopped: false, cells };
    }
    if (!scan.wanted) continue;
    const { entry } = scan;
    const length = openEntry(entry, scan.length, scan.keySum());
    const cellFlags = entry[0]!;
    if ((cellFlags & (flags.write | flags.lock)) === notWritten) continue;
    if ((cellFlags & (flags.write | held)) !== flags.write) {
      return { next: placeOf(scan, read), stopped: true, cells };
    }
    if (readTimestamp(entry, 1) <= read.at) {
      const end = newestEnd(entry, length);
      if (!take(scan.keys, scan.rowStart, scan.rowEnd, entry, newestStart(cellFlags), end)) {
        return { next: placeOf(scan, read), stopped: true, cells };
      }
      bytes += end;
    } else if ((cellFlags & (flags.older | flags.inline)) !== 0) {
      // Compute this first. Looking up an older record overwrites LMDB's buffer, which holds the
      // current key.
      const next = placeOf(scan, read);
      const row = scan.row();
      const taken = handOlder(databases, prefix, row, read, entry, take);
      if (taken === undefined) continue;
      if (taken < 0) return { next, stopped: true, cells };
      bytes += taken;
    } else continue;
    cells++;
  }
  return { next: undefined, stopped: false, cells };
}

/**
 * Passes the visible record beneath the newest one to `take`. Returns the record's length, or -1 if
 * `take` refused it. Returns undefined if no such record exists.
 */
function handOlder(
  databases: Databases,
  prefix: Uint8Array,
  row: Buffer,
  { column, at }: ZeroCopyRead,
  entry: Buffer,
  take: TakeCell,
): number | undefined {
  const facts = { flags: entry[0]!, timestamp: readTimestamp(entry, 1), bytes: noBytes };
  const write = viewCell(databases, cellKey.cell(prefix, row, column), column, facts, at)?.write;
  if (write === undefined) return undefined;
  const record = write.value as Buffer;
  return take(row, 0, row.length, record, 0, record.length) ? record.length : -1;
}

/**
 * The position at which the next page starts, given the entry at which the scan has stopped. If
 * that entry lies after the column's cell in scan order, its row is done.
 */
function placeOf(scan: ColumnScan, { column, reverse }: ZeroCopyRead): Position {
  const row = scan.row();
  const order = scan.wanted ? 0 : compareBytes(scan.column(), column);
  return { row: (reverse ? order >= 0 : order > 0) ? successor(row) : row };
}
