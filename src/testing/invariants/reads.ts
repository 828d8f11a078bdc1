import type { CellModel, CellVersion } from "./cell-model.js";
import type { Step } from "./step.js";
import { isSameValue, type StoreModel } from "./store-model.js";
import type { ViolationReporter } from "./violation.js";

/** A cell as a transaction saw it. */
export interface AnsweredRead {
  readonly start: number;
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  /** Commit timestamp of the version that the transaction saw, if it is known. */
  readonly commit: number | undefined;
  /** Undefined if the cell had no value. */
  readonly value: Uint8Array | undefined;
}

/**
 * Checks that every read returns the contents of the snapshot at its transaction's start timestamp,
 * and that no later commit changes that snapshot (invariant 10).
 */
export class Reads {
  readonly #reporter: ViolationReporter;
  readonly #model: StoreModel;

  constructor(reporter: ViolationReporter, model: StoreModel) {
    this.#reporter = reporter;
    this.#model = model;
  }

  read({ start, table, row, column, commit, value }: AnsweredRead): void {
    const cell = this.#model.cell(this.#model.row(table, row), column);
    if (cell.greatestRead < start) cell.greatestRead = start;
    const truth = cell.shownAt(start);
    if (truth?.dropped) return;
    const isRight = isSameValue(truth?.value, value) && (commit === undefined || commit === truth?.commit);
    if (isRight) return;
    const answered = value === undefined ? "nothing" : `the value at ${commit ?? "some commit"}`;
    const message = `a read at ${start} returned ${answered}, but the cell held ${showVersion(truth)}`;
    this.#reporter.report(10, cell.name, message);
  }

  check(step: Step): void {
    for (const { cell, of } of step.committed) {
      if (of.visibleFrom <= cell.greatestRead) this.#reportLate(cell, of);
    }
  }

  #reportLate(cell: CellModel, version: CellVersion): void {
    const what = version.loaded
      ? `the bulk load ${version.start} was published at ${version.visibleFrom}`
      : `the transaction at ${version.start} committed at ${version.commit}`;
    const message = `${what} after the cell had been read at ${cell.greatestRead}`;
    this.#reporter.report(10, cell.name, message);
  }
}

function showVersion(version: CellVersion | undefined): string {
  if (version === undefined) return "nothing";
  if (version.isDelete) return `nothing, deleted at ${version.commit}`;
  return `the value of ${version.commit}, written at ${version.start}`;
}
