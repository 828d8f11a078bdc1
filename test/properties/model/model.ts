import { type Cell, cellId, compareRows, compareText, type Row, type TableName, tableOf } from "./tables.js";

/** One committed version. An undefined value is a deletion. */
export interface ModelVersion {
  readonly commit: number;
  readonly value: unknown;
}

interface ModelCell {
  readonly cell: Cell;
  /** Ascending. */
  readonly versions: ModelVersion[];
  /** Those that garbage collection has left. */
  kept: ModelVersion[];
}

/** The contents that a transaction or snapshot shows. */
export interface ModelView {
  readonly at: number;
  readonly own: ReadonlyMap<string, { readonly cell: Cell; readonly value: unknown }>;
}

export interface LiveCell {
  readonly cell: Cell;
  readonly value: unknown;
}

export interface LiveRow {
  readonly row: Row;
  readonly cells: readonly LiveCell[];
}

const nothingOwn: ModelView["own"] = new Map();

/** The database as plain maps: every version of every cell. */
export class Model {
  readonly cells = new Map<string, ModelCell>();
  /** Timestamps at which something happened. */
  readonly moments: number[] = [0];
  safepoint = 0;

  at(timestamp: number): ModelView {
    return { at: timestamp, own: nothingOwn };
  }

  value(view: ModelView, cell: Cell): unknown {
    const id = cellId(cell);
    const own = view.own.get(id);
    if (own !== undefined) return own.value;
    return this.cells.get(id)?.versions.findLast((version) => version.commit <= view.at)?.value;
  }

  /** Returns every cell of a table that has a value, by row and then by column. */
  live(view: ModelView, table: TableName): readonly LiveRow[] {
    const known = new Map<string, Cell>();
    for (const [id, { cell }] of this.cells) known.set(id, cell);
    for (const [id, { cell }] of view.own) known.set(id, cell);
    const rows = new Map<string, { row: Row; cells: LiveCell[] }>();
    for (const cell of known.values()) {
      if (tableOf(cell) !== table) continue;
      const value = this.value(view, cell);
      if (value === undefined) continue;
      const key = JSON.stringify(cell.row);
      const row = rows.get(key) ?? { row: cell.row, cells: [] };
      row.cells.push({ cell, value });
      rows.set(key, row);
    }
    const sorted = [...rows.values()].sort((a, b) => compareRows(a.row, b.row));
    for (const { cells } of sorted) {
      cells.sort((a, b) => compareText(a.cell.qualifier ?? "", b.cell.qualifier ?? ""));
    }
    return sorted;
  }

  /** Whether one of these cells was committed after `start`. */
  changedSince(start: number, matches: (cell: Cell) => boolean): boolean {
    for (const { cell, versions } of this.cells.values()) {
      if ((versions.at(-1)?.commit ?? 0) > start && matches(cell)) return true;
    }
    return false;
  }

  commit(own: ModelView["own"], commit: number): void {
    this.moments.push(commit);
    for (const [id, { cell, value }] of own) {
      const known = this.cells.get(id) ?? { cell, versions: [], kept: [] };
      known.versions.push({ commit, value });
      known.kept.push({ commit, value });
      this.cells.set(id, known);
    }
  }

  /** Applies garbage collection at the safepoint to a cell without observers. */
  collect(safepoint: number): void {
    this.safepoint = safepoint;
    for (const cell of this.cells.values()) {
      const newest = cell.kept.findLast((version) => version.commit <= safepoint);
      if (newest === undefined) continue;
      cell.kept = cell.kept.filter((version) => version.commit >= newest.commit);
      if (cell.kept.length === 1 && newest.value === undefined) cell.kept = [];
    }
  }
}
