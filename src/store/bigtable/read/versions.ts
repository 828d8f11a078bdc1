import { byteString, compareBytes } from "../../bytes.js";
import { type Columns, type Part, type PartVersion, parts, type RawCell, type Version } from "../../cell.js";
import { wantedRange } from "../../columns.js";
import type { ReadCell } from "./chunks.js";
import type { BranchLimit } from "./filter.js";
import type { Shown } from "./views.js";

/**
 * Whether the caller does not need a column whose only version is this write record: see
 * `RawRead.skip`.
 */
export type Skip = ((write: Version) => boolean) | undefined;

interface Building {
  readonly column: Uint8Array;
  readonly versions: Record<Part, PartVersion[]>;
}

/**
 * What a page shows of a row that was read with a filter for versions, and with at most `limit`
 * cells for each part.
 */
export function showVersions(
  cells: readonly ReadCell[],
  columns: Columns,
  limit: BranchLimit,
  skip: Skip,
): Shown<RawCell> {
  const from = limit === undefined ? undefined : firstIncomplete(cells, limit);
  let bytes = 0;
  const shown: RawCell[] = [];
  for (const { column, versions } of sortedColumns(cells)) {
    if (from !== undefined && compareBytes(column, from) >= 0) break;
    if (wantedRange(columns, column) === undefined) continue;
    const all = parts.flatMap((part) => versions[part]);
    if (all.length === 1 && all[0]!.part === "write" && skip?.(all[0]!)) continue;
    for (const version of all) bytes += version.value.length;
    shown.push({ column, versions: all });
  }
  return { cells: shown, bytes, from };
}

function sortedColumns(cells: readonly ReadCell[]): Building[] {
  const columns = new Map<string, Building>();
  for (const { part, column, timestamp, value } of cells) {
    const key = byteString(column);
    let building = columns.get(key);
    if (building === undefined) {
      building = { column, versions: { lock: [], write: [], data: [], txn: [] } };
      columns.set(key, building);
    }
    building.versions[part].push({ part, timestamp, value });
  }
  return [...columns.values()].sort((a, b) => compareBytes(a.column, b.column));
}

/**
 * The first column that may be incomplete. If a part has as many versions as the limit, some
 * versions of its last column may be missing.
 */
function firstIncomplete(cells: readonly ReadCell[], limit: number): Uint8Array | undefined {
  const counts: Record<Part, number> = { lock: 0, write: 0, data: 0, txn: 0 };
  let first: Uint8Array | undefined;
  for (const { part, column } of cells) {
    counts[part]++;
    if (counts[part] !== limit) continue;
    if (first === undefined || compareBytes(column, first) < 0) first = column;
  }
  return first;
}
