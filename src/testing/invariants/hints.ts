import type { RegisteredObserver } from "../../observer/index.js";
import type { CellModel } from "./cell-model.js";
import type { RegistrationGrace } from "./grace.js";
import type { HintModel } from "./hint-model.js";
import { dealtWithUpTo, type Observed } from "./observed.js";
import type { RegistryModel } from "./registry-model.js";
import type { HintRemoval, Step } from "./step.js";
import type { StoreModel } from "./store-model.js";
import type { Transactions } from "./transactions.js";
import type { ViolationReporter } from "./violation.js";

export interface HintsParts {
  readonly reporter: ViolationReporter;
  readonly model: StoreModel;
  readonly registry: RegistryModel;
  readonly transactions: Transactions;
  readonly observed: Observed;
  readonly grace: RegistrationGrace;
  /** Whether the store mutates only one row at a time. */
  readonly singleRows: boolean;
}

/** Checks that every due observer has a hint (invariant 14). */
export class Hints {
  readonly #parts: HintsParts;

  constructor(parts: HintsParts) {
    this.#parts = parts;
  }

  check(step: Step, isRegistryNew: boolean): void {
    const { model, observed, registry } = this.#parts;
    for (const { cell } of step.committed)
      for (const observer of registry.strongOf(cell)) this.#checkDue(cell, observer);
    for (const { cell, observer } of observed.changed) this.#checkOne(cell, observer);
    for (const removal of step.hintsRemoved) this.#checkRemoval(removal, step);
    if (isRegistryNew) for (const cell of model.cells()) this.checkCell(cell);
  }

  checkCell(cell: CellModel): void {
    for (const observer of this.#parts.registry.strongOf(cell)) this.#checkDue(cell, observer);
  }

  /**
   * Returns the newest change that an observer has not handled, if that change must have a hint.
   */
  dueOn(cell: CellModel, observer: RegisteredObserver): number | undefined {
    const commit = cell.newest?.commit;
    if (commit === undefined || commit <= this.#parts.grace.knownFrom(observer)) return undefined;
    return commit > dealtWithUpTo(cell, observer) ? commit : undefined;
  }

  #checkOne(cell: CellModel, name: string): void {
    const observer = this.#parts.registry.strongOf(cell).find((each) => each.name === name);
    if (observer !== undefined) this.#checkDue(cell, observer);
  }

  #checkDue(cell: CellModel, observer: RegisteredObserver): void {
    const commit = this.dueOn(cell, observer);
    if (commit === undefined) return;
    const { stamps } = this.#hintOf(cell, observer);
    for (const stamp of stamps) if (stamp >= commit) return;
    const message =
      `the change at ${commit} is due for observer ${observer.name}, which has handled its changes only up to ` +
      `${dealtWithUpTo(cell, observer)}; its hints: ${stamps.join(", ") || "none"}`;
    this.#parts.reporter.report(14, cell.name, message);
  }

  #hintOf(cell: CellModel, { name }: RegisteredObserver): HintModel {
    const state = cell.stateOf(name);
    state.hint ??= this.#parts.model.hint(name, cell.parent.key, cell.key);
    return state.hint;
  }

  #checkRemoval(removal: HintRemoval, step: Step): void {
    const { hint } = removal;
    const { registry, model } = this.#parts;
    const observer = registry.view.observers.get(hint.observer);
    if (observer === undefined) return;
    if (observer.isWeak) {
      this.#checkSignal(removal, step, observer);
      return;
    }
    const cell = model.find(observer.record.table, hint.row, hint.column);
    if (cell !== undefined) this.#checkOne(cell, hint.observer);
  }

  /**
   * Checks the deletion of a signal's hint. Only the hint records a signal. A run may therefore
   * delete hint versions up to its start timestamp, but not up to its commit timestamp.
   */
  #checkSignal({ hint, stamps, upTo }: HintRemoval, step: Step, observer: RegisteredObserver): void {
    const { model, reporter, transactions, singleRows } = this.#parts;
    const newest = Math.max(...stamps);
    if (hint.stamps.some((stamp) => stamp >= newest)) return;
    const cell = model.find(observer.record.table, hint.row, hint.column);
    if (cell !== undefined && dealtWithUpTo(cell, observer) >= newest) return;
    const run = step.written.find(({ of }) => of.onePhase)?.of;
    const isBeyondRun = run !== undefined && upTo > run.start;
    if (!isBeyondRun && !(singleRows && transactions.isCommit(upTo))) return;
    const where = `${observer.record.table}/${hint.row}/${hint.column}`;
    const what = isBeyondRun ? `the start of the run, ${run.start}` : "no start but a commit";
    const message = `the hints of observer ${hint.observer} up to ${upTo} were removed, but that is ${what}`;
    reporter.report(14, where.replaceAll("\0", ":"), message);
  }
}
