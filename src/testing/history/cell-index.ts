import type { CheckedTransaction } from "./checked-transaction.js";
import { showCellName } from "./encoded.js";
import type { CellName, Interval, RecordedValue } from "./history.js";

/** A committed version of a cell. */
export interface Version {
  readonly commit: number;
  readonly value: RecordedValue;
  /** `undefined` for a value that existed before the recording. */
  readonly writer: CheckedTransaction | undefined;
  /** How many reads showed the version, and which transactions should have seen it but did not. */
  seen: number;
  readonly missedBy: Set<CheckedTransaction>;
}

/** A cell with all its versions. */
export class Cell {
  readonly name: CellName;
  /** The transactions that wrote the cell, committed or not. */
  readonly writers: CheckedTransaction[] = [];
  #versions: Version[] = [];
  #sorted = true;

  constructor(name: CellName) {
    this.name = name;
  }

  /** The versions by commit timestamp. */
  get versions(): readonly Version[] {
    if (!this.#sorted) this.#versions.sort((a, b) => a.commit - b.commit);
    this.#sorted = true;
    return this.#versions;
  }

  add(commit: number, value: RecordedValue, writer: CheckedTransaction | undefined): void {
    const last = this.#versions.at(-1);
    if (last !== undefined && last.commit > commit) this.#sorted = false;
    this.#versions.push({ commit, value, writer, seen: 0, missedBy: new Set() });
  }

  remove(writer: CheckedTransaction): void {
    this.#versions = this.versions.filter((version) => version.writer !== writer);
  }

  /** Returns the index of the newest version at or below a timestamp, or -1 if there is none. */
  indexAt(timestamp: number): number {
    const { versions } = this;
    let low = 0;
    let high = versions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (versions[middle]!.commit <= timestamp) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /**
   * Returns the index of the version that a reader at `timestamp` saw. If several have the value,
   * returns the most likely one.
   */
  indexShown(timestamp: number, value: RecordedValue): number | undefined {
    const { versions } = this;
    const visible = this.indexAt(timestamp);
    for (let index = visible; index >= 0; index--) if (versions[index]!.value === value) return index;
    if (value === undefined) return -1;
    for (let index = visible + 1; index < versions.length; index++) {
      if (versions[index]!.value === value) return index;
    }
    return undefined;
  }

  toString(): string {
    return showCellName(this.name);
  }
}

interface Row {
  readonly cells: Map<string, Cell>;
  columns: readonly string[];
}

interface Rows {
  readonly rows: Map<string, Row>;
  names: readonly string[];
}

/** Every cell of a history, by table, row and column. */
export class CellIndex {
  readonly #tables = new Map<string, Rows>();
  readonly all: Cell[] = [];

  cell(name: CellName): Cell {
    return this.at(name.table, name.row, name.column, name);
  }

  at(tableName: string, rowName: string, column: string, name?: CellName): Cell {
    let table = this.#tables.get(tableName);
    if (table === undefined) {
      table = { rows: new Map(), names: [] };
      this.#tables.set(tableName, table);
    }
    let row = table.rows.get(rowName);
    if (row === undefined) {
      row = { cells: new Map(), columns: [] };
      table.rows.set(rowName, row);
    }
    let cell = row.cells.get(column);
    if (cell === undefined) {
      cell = new Cell(name ?? { table: tableName, row: rowName, column });
      row.cells.set(column, cell);
      this.all.push(cell);
    }
    return cell;
  }

  /** Sorts the names. The caller calls it once, after the last cell and before the first range. */
  sort(): void {
    for (const table of this.#tables.values()) {
      table.names = [...table.rows.keys()].sort(byCodeUnits);
      for (const row of table.rows.values()) row.columns = [...row.cells.keys()].sort(byCodeUnits);
    }
  }

  /** Visits every known cell of a range. */
  range(tableName: string, rows: Interval, columns: Interval, visit: (cell: Cell) => void): void {
    const table = this.#tables.get(tableName);
    if (table === undefined) return;
    for (let at = firstFrom(table.names, rows.start); at < table.names.length; at++) {
      const name = table.names[at]!;
      if (rows.end !== undefined && name >= rows.end) return;
      const row = table.rows.get(name)!;
      for (let i = firstFrom(row.columns, columns.start); i < row.columns.length; i++) {
        const column = row.columns[i]!;
        if (columns.end !== undefined && column >= columns.end) break;
        visit(row.cells.get(column)!);
      }
    }
  }
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the index of the first name that is not below `start`. */
function firstFrom(names: readonly string[], start: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names[middle]! < start) low = middle + 1;
    else high = middle;
  }
  return low;
}
