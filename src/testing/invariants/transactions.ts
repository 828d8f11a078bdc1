import { isSameCell, type StatusRecord, showCell } from "../../transaction/index.js";
import { type CellModel, type CellVersion, isPresent, type LockModel } from "./cell-model.js";
import type { Step } from "./step.js";
import type { ViolationReporter } from "./violation.js";

/** What the watcher knows of a two-phase transaction. */
interface TransactionModel {
  readonly start: number;
  /** Every cell that it has ever locked. */
  readonly cells: Set<CellModel>;
  status: StatusRecord | undefined;
  toldNotWritten: boolean;
  /** Whether collection has removed its status. After that, no process can tell how it ended. */
  forgotten: boolean;
}

/**
 * The state of each two-phase transaction, and checks of what must hold for all its cells
 * (invariants 4 to 8, and 11). A transaction counts as committed in all its cells from the moment
 * when its primary lock is replaced by a write record.
 */
export class Transactions {
  readonly #reporter: ViolationReporter;
  readonly #byStart = new Map<number, TransactionModel>();
  readonly #commits = new Set<number>();

  constructor(reporter: ViolationReporter) {
    this.#reporter = reporter;
  }

  /** Whether a two-phase transaction has committed at this timestamp. */
  isCommit(timestamp: number): boolean {
    return this.#commits.has(timestamp);
  }

  /**
   * Finds the versions that `step` committed without putting their write records, and checks its
   * effect on transactions.
   */
  settle(step: Step): void {
    for (const { cell, of } of step.locksPut) this.#locked(cell, of);
    for (const { cell, of } of step.statusesPut) this.#decided(cell, of.start, of.status, step);
    for (const { cell, of } of step.written) if (!of.onePhase) this.#wrote(cell, of);
    for (const { cell, of } of step.changed) this.#wroteAnother(cell, of);
    for (const { cell, of } of step.locksRemoved) this.#unlocked(cell, of.start);
    for (const { cell, of } of step.statusesRemoved) this.#forgotten(cell, of);
    for (const { cell, of } of step.committed) completeValue(cell, of);
    for (const { cell, of } of step.loaded) completeValue(cell, of);
  }

  /** Like {@link settle}, for what existed before the watcher began. */
  adopt(step: Step): void {
    for (const { cell, of } of step.locksPut) this.#of(of.start).cells.add(cell);
    for (const { of } of step.statusesPut) this.#know(of.start, of.status);
    for (const { of } of step.written)
      if (!of.onePhase) this.#know(of.start, { outcome: "committed", commit: of.commit });
    for (const { cell, of } of step.locksPut) {
      const { status } = this.#of(of.start);
      if (status?.outcome === "committed") insertPending(cell, of, status.commit, step);
    }
    for (const { cell, of } of step.committed) completeValue(cell, of);
    for (const { cell, of } of step.loaded) completeValue(cell, of);
  }

  /** Records the outcome that a client received. */
  told(start: number, outcome: "committed" | "not-written", commit: number | undefined): void {
    const transaction = this.#of(start);
    const { status } = transaction;
    const where = `the transaction at ${start}`;
    if (outcome === "not-written") {
      transaction.toldNotWritten = true;
      if (status?.outcome !== "committed") return;
      const message = `its caller was told that nothing was written, but it is committed at ${status.commit}`;
      this.#reporter.report(11, where, message);
    } else if (status?.outcome !== "committed") {
      const is = status === undefined ? "has not reached its commit point" : "is rolled back";
      this.#reporter.report(11, where, `its caller was told that it committed, but it ${is}`);
    } else if (commit !== undefined && commit !== status.commit) {
      const message = `its caller was told that it committed at ${commit}, but it committed at ${status.commit}`;
      this.#reporter.report(11, where, message);
    }
  }

  #of(start: number): TransactionModel {
    let transaction = this.#byStart.get(start);
    if (transaction === undefined) {
      transaction = { start, cells: new Set(), status: undefined, toldNotWritten: false, forgotten: false };
      this.#byStart.set(start, transaction);
    }
    return transaction;
  }

  #know(start: number, status: StatusRecord): TransactionModel {
    const transaction = this.#of(start);
    transaction.status = status;
    if (status.outcome === "committed") this.#commits.add(status.commit);
    return transaction;
  }

  #locked(cell: CellModel, lock: LockModel): void {
    const transaction = this.#of(lock.start);
    transaction.cells.add(cell);
    if (transaction.status?.outcome !== "committed") return;
    const message = `the transaction at ${lock.start} locked it after it had committed at ${transaction.status.commit}`;
    this.#reporter.report(7, cell.name, message);
  }

  #decided(cell: CellModel, start: number, status: StatusRecord, step: Step): void {
    const { status: known, forgotten } = this.#of(start);
    // After garbage collection removed the status, a process that meets the transaction can only
    // write a rollback record as a fence. That process knows from the safepoint that its record
    // does not decide the outcome.
    if (forgotten && status.outcome === "rolled-back") return;
    if (known !== undefined) {
      this.#decidedAgain(cell, start, known, status);
      return;
    }
    const transaction = this.#know(start, status);
    if (status.outcome === "committed") this.#committed(cell, transaction, status.commit, step);
    else this.#rolledBack(transaction);
  }

  #decidedAgain(cell: CellModel, start: number, known: StatusRecord, status: StatusRecord): void {
    if (known.outcome !== status.outcome) {
      const message = `the transaction at ${start} was ${known.outcome}, but is ${status.outcome} now`;
      this.#reporter.report(6, cell.name, message);
    } else if (
      known.outcome === "committed" &&
      status.outcome === "committed" &&
      known.commit !== status.commit
    ) {
      this.#reporter.report(5, cell.name, twoCommits(start, known.commit, status.commit));
    }
  }

  #committed(primary: CellModel, transaction: TransactionModel, commit: number, step: Step): void {
    const { start } = transaction;
    if (start >= commit) {
      this.#reporter.report(4, primary.name, `the transaction at ${start} committed at ${commit}`);
    }
    if (transaction.toldNotWritten) {
      const message = `a caller was told that the transaction at ${start} wrote nothing, but it committed at ${commit}`;
      this.#reporter.report(11, primary.name, message);
    }
    this.#checkPrimary(primary, start, commit, step);
    for (const cell of transaction.cells) {
      const lock = cell.lockOf(start);
      if (lock !== undefined) insertPending(cell, lock, commit, step);
      else this.#checkWritten(cell, start, commit);
    }
  }

  /**
   * Checks that the commit status is in the primary cell, and that its timestamp is not below one
   * that the primary's lock promised to a reader.
   */
  #checkPrimary(cell: CellModel, start: number, commit: number, step: Step): void {
    const lock = cell.lockOf(start) ?? step.locksRemoved.find((each) => each.cell === cell)?.of;
    if (lock?.start !== start) {
      const message = `the transaction at ${start} committed here at ${commit} without a lock`;
      this.#reporter.report(7, cell.name, message);
      return;
    }
    const { primary } = lock.record;
    if (!isSameCell(primary, cell)) {
      const message = `the transaction at ${start} committed here at ${commit}, but its primary is ${showCell(primary)}`;
      this.#reporter.report(7, cell.name, message);
    }
    if (commit < lock.minCommit) {
      const message =
        `the transaction at ${start} committed at ${commit}, but a reader that passed its lock was promised ` +
        `${lock.minCommit} or later`;
      this.#reporter.report(10, cell.name, message);
    }
  }

  #checkWritten(cell: CellModel, start: number, commit: number): void {
    const version = cell.versionOf(start);
    if (version?.commit === commit) return;
    const message = `the transaction at ${start} committed at ${commit}, but its lock here was gone without a write`;
    this.#reporter.report(7, cell.name, message);
  }

  #rolledBack(transaction: TransactionModel): void {
    for (const cell of transaction.cells) {
      const version = cell.versionOf(transaction.start);
      if (version !== undefined) this.#reportUndone(cell, transaction.start, version.commit);
    }
  }

  #reportUndone(cell: CellModel, start: number, commit: number): void {
    const message = `the transaction at ${start} was rolled back, but wrote here at ${commit}`;
    this.#reporter.report(8, cell.name, message);
  }

  #wrote(cell: CellModel, version: CellVersion): void {
    const { start, commit } = version;
    const { status } = this.#of(start);
    if (status === undefined) {
      const message = `the transaction at ${start} wrote here at ${commit} before its primary was committed`;
      this.#reporter.report(7, cell.name, message);
      // From here on, the commit timestamp of this cell counts as that of the transaction. The
      // later cells of the transaction are compared with it.
      this.#know(start, { outcome: "committed", commit });
    } else if (status.outcome === "rolled-back") this.#reportUndone(cell, start, commit);
    else if (status.commit !== commit) {
      this.#reporter.report(5, cell.name, twoCommits(start, status.commit, commit));
    }
  }

  #wroteAnother(cell: CellModel, { start, commit }: CellVersion): void {
    const message = `the write at ${commit} of the transaction at ${start} differs from its lock, or from its value here`;
    this.#reporter.report(7, cell.name, message);
  }

  #unlocked(cell: CellModel, start: number): void {
    if (cell.lockOf(start) !== undefined) return;
    const { status } = this.#of(start);
    if (status?.outcome !== "committed") return;
    const version = cell.versionOf(start);
    if (version !== undefined) version.pending = false;
    if (version?.standing && version.commit === status.commit) return;
    const message = `the transaction at ${start} committed at ${status.commit}, but its lock was removed without a write`;
    this.#reporter.report(7, cell.name, message);
  }

  /** Checks that a status is removed only when no process needs it any more. */
  #forgotten(cell: CellModel, start: number): void {
    const transaction = this.#of(start);
    transaction.forgotten = true;
    for (const locked of transaction.cells) {
      if (locked.lockOf(start) === undefined) continue;
      const message = `the status of the transaction at ${start} was removed while its lock was on ${locked.name}`;
      this.#reporter.report(6, cell.name, message);
    }
  }
}

function twoCommits(start: number, one: number, other: number): string {
  return `the transaction at ${start} committed at ${one} and at ${other}`;
}

function insertPending(cell: CellModel, lock: LockModel, commit: number, step: Step): void {
  const { kind, value } = lock.record;
  const known = cell.versionOf(lock.start);
  if (known !== undefined && isPresent(known)) return;
  const version: CellVersion = {
    commit,
    start: lock.start,
    isDelete: kind === "delete",
    onePhase: false,
    loaded: false,
    visibleFrom: commit,
    external: kind === "put" && value === undefined,
    value,
    standing: false,
    pending: true,
    dropped: false,
  };
  cell.insert(version);
  step.committed.push({ cell, of: version });
}

function completeValue(cell: CellModel, version: CellVersion): void {
  if (version.external) version.value = cell.data.get(version.start);
}
