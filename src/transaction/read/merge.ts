import type { Columns } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import { CommittedCell, type CommittedRow } from "../cell/committed.js";

/** The commit timestamp of a buffered cell: it gets its real one only at the commit. */
const notYet = Number.POSITIVE_INFINITY;

/** Whether a selection includes a column. */
export function isSelected(columns: Columns, column: Uint8Array): boolean {
  return columns.some((range) => {
    if ("exact" in range) return Buffer.compare(range.exact, column) === 0;
    if (Buffer.compare(range.start, column) > 0) return false;
    return range.end === undefined || Buffer.compare(column, range.end) < 0;
  });
}

/**
 * Merges a row's cells with the transaction's writes to that row. Both are in ascending column
 * order. A write replaces the cell of its column.
 */
export function mergeCells(
  cells: readonly CommittedCell[],
  writes: readonly BufferedWrite[],
): readonly CommittedCell[] {
  if (writes.length === 0) return cells;
  const merged: CommittedCell[] = [];
  let next = 0;
  for (const cell of cells) {
    while (next < writes.length && Buffer.compare(writes[next]!.column, cell.column) < 0) {
      merged.push(asCell(writes[next++]!));
    }
    if (next < writes.length && Buffer.compare(writes[next]!.column, cell.column) === 0) {
      merged.push(asCell(writes[next++]!));
    } else {
      merged.push(cell);
    }
  }
  while (next < writes.length) merged.push(asCell(writes[next++]!));
  return merged;
}

function asCell(write: BufferedWrite): CommittedCell {
  const value = write.value;
  const buffer =
    value === undefined ? undefined : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return new CommittedCell(write.column, notYet, buffer);
}

/**
 * Merges the rows of a scan with the transaction's writes, which are in ascending order. Both cover
 * the same range of rows. Inserts a row that only has writes.
 */
export function mergeRows(
  rows: readonly CommittedRow[],
  writes: readonly BufferedWrite[],
  reverse: boolean,
): readonly CommittedRow[] {
  if (writes.length === 0) return rows;
  const groups = groupByRow(writes);
  if (reverse) groups.reverse();
  const direction = reverse ? -1 : 1;
  const merged: CommittedRow[] = [];
  let next = 0;
  for (const row of rows) {
    while (next < groups.length && direction * Buffer.compare(groups[next]!.row, row.row) < 0) {
      merged.push(onlyWritten(groups[next++]!));
    }
    if (next < groups.length && Buffer.compare(groups[next]!.row, row.row) === 0) {
      merged.push({ row: row.row, cells: mergeCells(row.cells, groups[next++]!.writes) });
    } else {
      merged.push(row);
    }
  }
  while (next < groups.length) merged.push(onlyWritten(groups[next++]!));
  return merged;
}

interface RowWrites {
  readonly row: Uint8Array;
  readonly writes: BufferedWrite[];
}

function onlyWritten(group: RowWrites): CommittedRow {
  return { row: group.row, cells: group.writes.map(asCell) };
}

function groupByRow(writes: readonly BufferedWrite[]): RowWrites[] {
  const groups: RowWrites[] = [];
  for (const write of writes) {
    const last = groups.at(-1);
    if (last !== undefined && Buffer.compare(last.row, write.row) === 0) last.writes.push(write);
    else groups.push({ row: write.row, writes: [write] });
  }
  return groups;
}
