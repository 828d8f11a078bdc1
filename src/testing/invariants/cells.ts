import { type CellModel, type CellVersion, isPresent, isPublished } from "./cell-model.js";
import type { Step } from "./step.js";
import type { ViolationReporter } from "./violation.js";

/** Checks what must hold within each cell (invariants 1, 2, 3, 4 and 9). */
export class Cells {
  readonly #reporter: ViolationReporter;

  constructor(reporter: ViolationReporter) {
    this.#reporter = reporter;
  }

  check(step: Step): void {
    for (const { cell, of } of step.locksPut) {
      this.#checkLocks(cell);
      this.#checkExclusion(cell, of.start);
    }
    for (const { cell, of } of step.written) if (!of.onePhase) this.#checkExclusion(cell, of.start);
    for (const { cell, of } of step.committed) {
      this.#checkInterval(cell, of);
      this.#checkData(cell, of);
    }
    for (const { cell, of } of step.dataRemoved) this.#checkNamed(cell, of);
  }

  /** Checks all of these invariants for one cell. */
  checkWhole(cell: CellModel): void {
    this.#checkLocks(cell);
    for (const lock of cell.locks) this.#checkExclusion(cell, lock.start);
    for (const version of cell.versions) {
      if (!isPresent(version) || !isPublished(version)) continue;
      this.#checkInterval(cell, version);
      if (version.external) this.#checkNamed(cell, version.start);
    }
  }

  #checkLocks(cell: CellModel): void {
    if (cell.locks.length < 2) return;
    const starts = cell.locks.map((lock) => lock.start).join(", ");
    this.#reporter.report(1, cell.name, `it holds the locks of the transactions at ${starts}`);
  }

  #checkExclusion(cell: CellModel, start: number): void {
    if (cell.lockOf(start) === undefined) return;
    const version = cell.versionOf(start);
    if (!version?.standing) return;
    const message = `it holds a lock of the transaction at ${start} and its write at ${version.commit}`;
    this.#reporter.report(2, cell.name, message);
  }

  #checkInterval(cell: CellModel, version: CellVersion): void {
    const { start, commit } = version;
    if (start >= commit) {
      this.#reporter.report(4, cell.name, `the transaction at ${start} committed at ${commit}`);
    }
    const { versions } = cell;
    const index = versions.indexOf(version, Math.max(0, cell.indexAt(commit) - 1));
    const before = versions[index - 1];
    const after = versions[index + 1];
    if (before !== undefined && isPublished(before) && start < before.visibleFrom)
      this.#reportOverlap(cell, before, version);
    if (after !== undefined && after.start < version.visibleFrom) this.#reportOverlap(cell, version, after);
  }

  #reportOverlap(cell: CellModel, one: CellVersion, other: CellVersion): void {
    const message =
      `the transactions from ${one.start} to ${one.visibleFrom} and from ${other.start} to ${other.visibleFrom} ` +
      "have both written it";
    this.#reporter.report(3, cell.name, message);
  }

  #checkData(cell: CellModel, version: CellVersion): void {
    if (!version.external || version.value !== undefined) return;
    const message = `the write at ${version.commit} names a value at ${version.start} that is missing`;
    this.#reporter.report(9, cell.name, message);
  }

  /** Checks that no write record refers to a data cell that was deleted. */
  #checkNamed(cell: CellModel, start: number): void {
    if (cell.data.has(start)) return;
    for (const version of cell.versions) {
      if (!version.external || version.start !== start || !isPresent(version)) continue;
      const message = `the value at ${start} is gone, but the write at ${version.commit} names it`;
      this.#reporter.report(9, cell.name, message);
    }
  }
}
