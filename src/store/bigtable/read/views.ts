import { byteString, compareBytes, equalBytes, successor } from "../../bytes.js";
import type { CellView, Columns, Version } from "../../cell.js";
import { wantedRange } from "../../columns.js";
import { viewBytes } from "../../range-page.js";
import type { ReadCell } from "./chunks.js";
import type { BranchLimit } from "./filter.js";

/** What a page shows of a row, and the column at which to continue. */
export interface Shown<Cell> {
  readonly cells: readonly Cell[];
  readonly bytes: number;
  /** The first column that may be incomplete. Undefined if the row is complete. */
  readonly from: Uint8Array | undefined;
}

interface Building {
  readonly column: Uint8Array;
  lock: Version | undefined;
  write: Version | undefined;
  latest: boolean;
  data: Version[];
}

const noVersions: Version[] = [];

function add(building: Building, { part, timestamp, value }: ReadCell, at: number): void {
  if (part === "write" && timestamp > at) building.latest = false;
  else if (part === "write") building.write = { timestamp, value };
  else if (part === "lock") building.lock = { timestamp, value };
  else if (part === "data") building.data = [{ timestamp, value }];
}

function begin(column: Uint8Array): Building {
  return { column, lock: undefined, write: undefined, latest: true, data: noVersions };
}

/** The views of the columns that have cells in `cells`, in ascending order. */
export function viewCells(cells: readonly ReadCell[], at: number): readonly CellView[] {
  const first = cells[0];
  if (first === undefined) return [];
  const only = begin(first.column);
  for (const cell of cells) {
    if (cell.column !== first.column && !equalBytes(cell.column, first.column)) return viewMany(cells, at);
    add(only, cell, at);
  }
  return isShown(only) ? [only] : [];
}

function viewMany(cells: readonly ReadCell[], at: number): readonly CellView[] {
  const columns = new Map<string, Building>();
  for (const cell of cells) {
    const key = byteString(cell.column);
    let building = columns.get(key);
    if (building === undefined) {
      building = begin(cell.column);
      columns.set(key, building);
    }
    add(building, cell, at);
  }
  return [...columns.values()].filter(isShown).sort((a, b) => compareBytes(a.column, b.column));
}

function isShown({ lock, write }: Building): boolean {
  return lock !== undefined || write !== undefined;
}

/**
 * What a page shows of a row that was read with a view's filter and at most `limit` cells for each
 * branch of the filter.
 */
export function showViews(
  cells: readonly ReadCell[],
  columns: Columns,
  at: number,
  limit: BranchLimit,
): Shown<CellView> {
  const from = limit === undefined ? undefined : firstMissing(cells, at, limit);
  let bytes = 0;
  const shown = viewCells(cells, at).filter((view) => {
    if (from !== undefined && compareBytes(view.column, from) >= 0) return false;
    if (wantedRange(columns, view.column) === undefined) return false;
    bytes += viewBytes(view);
    return true;
  });
  return { cells: shown, bytes, from };
}

/**
 * The first column that may be missing. If a branch of the filter has as many columns as the limit,
 * columns after its last one may be missing.
 */
function firstMissing(cells: readonly ReadCell[], at: number, limit: number): Uint8Array | undefined {
  const counts = [0, 0, 0, 0];
  let last: Uint8Array | undefined;
  for (const { part, timestamp, column } of cells) {
    const branch = part === "lock" ? 0 : part === "data" ? 1 : timestamp > at ? 2 : 3;
    counts[branch]!++;
    if (counts[branch] !== limit) continue;
    if (last === undefined || compareBytes(column, last) < 0) last = column;
  }
  return last && successor(last);
}
