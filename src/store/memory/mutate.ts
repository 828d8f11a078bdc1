import { compareBytes, equalBytes } from "../bytes.js";
import { CellCursor } from "../cell-block.js";
import type { FillAnswer, FillBatch } from "../fill.js";
import {
  type AtomicBatch,
  type BatchAnswer,
  commitTimestamp,
  type Guard,
  type RangeGuard,
  type RowMutation,
  rowAt,
} from "../mutation.js";
import { deleteVersions, hasVersion, indexAtOrBelow, isEmpty, type MemoryCell, putVersion } from "./cell.js";
import { ascending, bounds } from "./read.js";
import { cellKey, MemoryTable } from "./table.js";

/** All tables of a store, by name. */
export type Tables = Map<string, MemoryTable>;

/** The index of the first guard of `mutation` that does not hold. -1 if all hold. */
export function failedGuard(tables: Tables, mutation: RowMutation, commit: number): number {
  const table = tables.get(mutation.table);
  return mutation.guards.findIndex((guard) => {
    const cell = table?.get(cellKey(mutation.row, guard.column));
    return !holds(cell, guard, commit);
  });
}

function holds(cell: MemoryCell | undefined, guard: Guard, commit: number): boolean {
  if (guard.type === "absent")
    return cell === undefined || !hasVersion(cell[guard.part], guard.from, guard.to);
  if (cell === undefined) return false;
  const versions = cell[guard.part];
  const at = guard.at === commitTimestamp ? commit : guard.at;
  const version = versions[indexAtOrBelow(versions, at)];
  if (version?.timestamp !== at) return false;
  if (guard.equals !== undefined && !equalBytes(version.value, guard.equals)) return false;
  return guard.below === undefined || compareBytes(version.value, guard.below) < 0;
}

/** Applies `mutation`, after its guards were checked. */
export function apply(tables: Tables, mutation: RowMutation, commit: number): void {
  const { table: name, mutations } = mutation;
  if (mutations.length === 0) return;
  const row = rowAt(mutation, commit);
  let table = tables.get(name);
  if (table === undefined) {
    table = new MemoryTable();
    tables.set(name, table);
  }
  for (const mutation of mutations) {
    const key = cellKey(row, mutation.column);
    let cell = table.get(key);
    if (mutation.type === "put") {
      if (cell === undefined) {
        cell = { key, row, column: mutation.column, lock: [], write: [], data: [], txn: [] };
        table.set(cell);
      }
      const timestamp = mutation.timestamp === commitTimestamp ? commit : mutation.timestamp;
      putVersion(cell[mutation.part], { timestamp, value: mutation.value });
    } else if (cell !== undefined) {
      deleteVersions(cell[mutation.part], mutation.from, mutation.to);
      if (isEmpty(cell)) table.delete(key);
    }
  }
}

/** The answer that names the first guard of `batch` that does not hold. Undefined if all hold. */
export function rejection(tables: Tables, batch: AtomicBatch, commit: number): BatchAnswer | undefined {
  for (let row = 0; row < batch.rows.length; row++) {
    const guard = failedGuard(tables, batch.rows[row]!, commit);
    if (guard >= 0) return { answer: "rejected", row, guard };
  }
  const range = (batch.ranges ?? []).findIndex((each) => !rangeHolds(tables, each));
  return range < 0 ? undefined : { answer: "rejected", range };
}

/** Puts the cells of a block, if the guards hold and no cell is between them. */
export function fill(tables: Tables, { guarded, cells }: FillBatch): FillAnswer {
  if (failedGuard(tables, { ...guarded, mutations: [] }, 0) >= 0) return "rejected";
  const rows: RowMutation[] = [];
  const cursor = new CellCursor(cells);
  const bytes = (from: number, to: number) => Buffer.from(cursor.buffer.subarray(from, to));
  while (cursor.next()) {
    const column = bytes(cursor.columnStart, cursor.columnEnd);
    const value = bytes(cursor.recordStart, cursor.recordEnd);
    rows.push({
      table: cells.table,
      row: bytes(cursor.rowStart, cursor.rowEnd),
      guards: [],
      mutations: [{ type: "put", column, part: "write", timestamp: cells.timestamp, value }],
    });
  }
  const first = keyOf(rows[0]!);
  const last = keyOf(rows.at(-1)!);
  for (const { key } of tables.get(cells.table)?.from(first) ?? []) {
    if (key <= last) return "occupied";
    break;
  }
  for (const row of rows) apply(tables, row, 0);
  return "applied";
}

function keyOf({ row, mutations }: RowMutation): string {
  return cellKey(row, mutations[0]!.column);
}

function rangeHolds(tables: Tables, range: RangeGuard): boolean {
  const table = tables.get(range.table);
  if (table === undefined) return true;
  const start = range.start && { row: range.start };
  const end = range.end && { row: range.end };
  for (const { cell, isWanted } of ascending(table, range, bounds(start, end))) {
    if (isWanted && range.absent.some((each) => hasVersion(cell[each.part], each.from, each.to)))
      return false;
  }
  return true;
}
