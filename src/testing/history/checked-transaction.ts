import type { Cell, CellIndex } from "./cell-index.js";
import type { RecordedRange, RecordedTransaction, RecordedValue } from "./history.js";

/** One of a transaction's writes to a cell, in its order. */
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
  /** Whether it counts as committed: its client was told so, or a read saw one of its writes. */
  committed: boolean;
  /**
   * Its commit timestamp. If the client was not told and the store was not audited, the latest one
   * that the reads allow.
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
