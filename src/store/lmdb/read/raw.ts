import { type Part, type PartVersion, parts, type RawCell, type RawRow } from "../../cell.js";
import type { RawPage, RawRead } from "../../row-store.js";
import type { Databases } from "../record/databases.js";
import { recordsBelow } from "../record/inline-history.js";
import { Key, tablePrefix } from "../record/key.js";
import { flags, protocolParts } from "../record/layout.js";
import { type EntryFacts, olderWrites, partVersions, readInlineHistory } from "./lookup.js";
import { pageLimits, rangeBounds } from "./read.js";
import { CellScan } from "./scan.js";

const cellKey = new Key();
const allVersions = Number.MAX_SAFE_INTEGER;

/**
 * A page of rows with every version of the selected parts, for collection, checks and inspection.
 */
export function readRaw(databases: Databases, read: RawRead): RawPage {
  const rows: RawRow[] = [];
  const prefix = tablePrefix(read.table);
  const bounds = rangeBounds(prefix, read.start, read.end);
  if (bounds.low.compare(bounds.high) >= 0) return { rows, next: undefined };
  const most = read.limit ?? pageLimits.cells;
  const scan = new CellScan(databases, prefix, read.columns, allVersions, bounds);
  let current: RawCell[] = [];
  let rowNumber = 0;
  let count = 0;
  let bytes = 0;
  try {
    while (scan.next()) {
      if (count >= pageLimits.cells || bytes >= pageLimits.bytes || scan.scanned > pageLimits.scanned) {
        return { rows, next: { row: scan.row, column: scan.column } };
      }
      if (!scan.wanted) continue;
      const versions = cellVersions(databases, cellKey.cell(prefix, scan.row, scan.column), scan, read);
      if (versions.length === 0) continue;
      if (scan.rowNumber !== rowNumber) {
        if (rows.length >= most) return { rows, next: { row: scan.row } };
        rowNumber = scan.rowNumber;
        current = [];
        rows.push({ row: scan.row, cells: current });
      }
      current.push({ column: scan.column, versions });
      count += versions.length;
      for (const version of versions) bytes += version.value.length;
    }
  } finally {
    scan.close();
  }
  return { rows, next: undefined };
}

function cellVersions(databases: Databases, cell: Key, entry: EntryFacts, read: RawRead): PartVersion[] {
  const from = read.from ?? 0;
  const below = read.to ?? Number.POSITIVE_INFINITY;
  const most = read.versions ?? allVersions;
  const result: PartVersion[] = [];
  if (below <= from) return result;
  for (const part of parts) {
    if (!read.parts.includes(part)) continue;
    if (part === "write") addWrites(databases, cell, entry, { from, below, most }, result);
    else if ((entry.flags & protocolParts[part].flag) !== 0) {
      addVersions(partVersions(databases, cell, part, below - 1, most), part, from, result);
    }
  }
  return result;
}

function addWrites(
  databases: Databases,
  cell: Key,
  entry: EntryFacts,
  { from, below, most }: { readonly from: number; readonly below: number; readonly most: number },
  result: PartVersion[],
): void {
  if ((entry.flags & flags.write) === 0) return;
  const full = result.length + most;
  const { timestamp } = entry;
  if ((entry.flags & flags.far) === 0 && timestamp >= from && timestamp < below) {
    result.push({ part: "write", timestamp, value: entry.bytes });
  }
  if ((entry.flags & flags.inline) !== 0) {
    for (const version of recordsBelow(readInlineHistory(databases, cell), below - 1)) {
      if (version.timestamp < from || result.length >= full) return;
      result.push({ part: "write", ...version });
    }
  }
  if ((entry.flags & (flags.older | flags.far)) === 0) return;
  const left = full - result.length;
  if (left > 0) addVersions(olderWrites(databases, cell, below - 1, left), "write", from, result);
}

function addVersions(
  entries: Iterable<{ readonly key: number; readonly value: Uint8Array }>,
  part: Part,
  from: number,
  result: PartVersion[],
): void {
  for (const { key: timestamp, value } of entries) {
    if (timestamp < from) break;
    result.push({ part, timestamp, value });
  }
}
