import type { RangeGuard } from "../../../mutation.js";
import { rangeBounds } from "../../read/read.js";
import { CellScan } from "../../read/scan.js";
import type { Databases } from "../../record/databases.js";
import { tablePrefix } from "../../record/key.js";
import { flags, protocolParts } from "../../record/layout.js";
import { CellEdit } from "./cell.js";

/** The scan copies no values. */
const noValues = -1;

/**
 * Whether no cell of the range has a version that must be absent. Scans the range, and stops at the
 * first such cell.
 */
export function rangeHolds(databases: Databases, guard: RangeGuard): boolean {
  const prefix = tablePrefix(guard.table);
  const bounds = rangeBounds(
    prefix,
    guard.start === undefined ? undefined : { row: guard.start },
    guard.end === undefined ? undefined : { row: guard.end },
  );
  if (bounds.low.compare(bounds.high) >= 0) return true;
  const scan = new CellScan(databases, prefix, guard.columns, noValues, bounds);
  try {
    while (scan.next()) {
      if (!scan.wanted) continue;
      for (const { part, from, to } of guard.absent) {
        if (mayHave(scan, part, from, to) && has(databases, prefix, scan, part, from, to)) return false;
      }
    }
  } finally {
    scan.close();
  }
  return true;
}

/**
 * Whether the cell may have a version of `part` with `from <= timestamp < to`, judged by its entry
 * alone. For most cells, the entry already rules that out.
 */
function mayHave(
  scan: CellScan,
  part: RangeGuard["absent"][number]["part"],
  from: number,
  to: number,
): boolean {
  if (part !== "write") return (scan.flags & protocolParts[part].flag) !== 0;
  if (scan.timestamp < from) return false;
  return scan.timestamp < to || (scan.flags & (flags.older | flags.inline)) !== 0;
}

function has(
  databases: Databases,
  prefix: Uint8Array,
  scan: CellScan,
  part: RangeGuard["absent"][number]["part"],
  from: number,
  to: number,
): boolean {
  return new CellEdit(databases, prefix, scan.row, scan.column).has(part, from, to);
}
