import { showCellName } from "../encoded.js";
import type { CellName, Interval, RecordedRange, RecordedTransaction, RecordedValue } from "../history.js";

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
   * Returns the index of the version that a reader at `timestamp` saw, if it saw `value`. If
   * several versions have the value, returns the newest one at or below `timestamp`, or else the
   * oldest one above it. If the cell was empty for the reader and no version at or below
   * `timestamp` is a delete, returns -1. If no version has the value, returns undefined.
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

  /**
   * Sorts the names. Call it once, after the last cell was added and before the first call of
   * {@link range}.
   */
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

/** One write of a transaction to a cell. `at` is a moment of the recorder's logical clock. */
export interface OwnWrite {
  readonly value: RecordedValue;
  readonly at: number;
}

/** A cell that a transaction saw, by name or in a range. */
export interface Observation {
  readonly cell: Cell;
  readonly value: RecordedValue;
  readonly invoked: number;
  readonly completed: number;
  /** Whether a range covered the cell, instead of a read by name. */
  readonly inRange: boolean;
}

/** A recorded transaction during the check. */
export class CheckedTransaction {
  readonly recorded: RecordedTransaction;
  readonly writes = new Map<Cell, OwnWrite[]>();
  /** Whether it counts as committed: its commit was reported, or a read saw one of its writes. */
  committed: boolean;
  /**
   * Its commit timestamp. If it was not reported and the store was not audited, this is the latest
   * timestamp that the reads allow.
   */
  commit: number | undefined;
  readonly #index: CellIndex;

  constructor(recorded: RecordedTransaction, index: CellIndex) {
    this.recorded = recorded;
    this.#index = index;
    const { outcome } = recorded;
    this.committed = outcome.type === "committed";
    this.commit = outcome.type === "committed" ? outcome.commitTimestamp : undefined;
    for (const operation of recorded.operations) {
      if (operation.type === "read") index.cell(operation.cell);
      else if (operation.type === "range") {
        for (const shown of operation.cells) index.at(operation.table, shown.row, shown.column);
      } else {
        const cell = index.cell(operation.cell);
        const own = this.writes.get(cell);
        if (own === undefined) {
          this.writes.set(cell, [{ value: operation.value, at: operation.at }]);
          cell.writers.push(this);
        } else own.push({ value: operation.value, at: operation.at });
      }
    }
    for (const own of this.writes.values()) own.sort((a, b) => a.at - b.at);
  }

  get id(): number {
    return this.recorded.id;
  }

  get start(): number {
    return this.recorded.startTimestamp;
  }

  /** Returns the value that the transaction leaves in a cell that it writes. */
  finalValue(cell: Cell): RecordedValue {
    return this.writes.get(cell)!.at(-1)!.value;
  }

  /** Whether the transaction had written the cell before it read it. */
  hadWritten(observation: Observation): boolean {
    const own = this.writes.get(observation.cell);
    return own !== undefined && own[0]!.at < observation.completed;
  }

  /**
   * Visits every cell that the transaction saw, including those that a range showed to be absent.
   */
  observe(visit: (observation: Observation) => void): void {
    for (const operation of this.recorded.operations) {
      if (operation.type === "read") {
        const { value, invoked, completed } = operation;
        visit({ cell: this.#index.cell(operation.cell), value, invoked, completed, inRange: false });
      } else if (operation.type === "range") this.#observeRange(operation, visit);
    }
  }

  #observeRange(range: RecordedRange, visit: (observation: Observation) => void): void {
    const { table, rows, columns, invoked, completed } = range;
    const shown = new Map<Cell, string>();
    for (const each of range.cells) shown.set(this.#index.at(table, each.row, each.column), each.value);
    this.#index.range(table, rows, columns, (cell) => {
      visit({ cell, value: shown.get(cell), invoked, completed, inRange: true });
    });
  }

  toString(): string {
    const { client, label, outcome } = this.recorded;
    const name = label === undefined ? client : `${client}, ${label}`;
    const end = this.commit === undefined ? outcome.type : `commit ${this.commit}`;
    return `T${this.id} (${name}; start ${this.start}, ${end})`;
  }
}
