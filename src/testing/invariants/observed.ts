import { decodeAcknowledgment, type RegisteredObserver } from "../../observer/index.js";
import type { CellModel, CellVersion, RecordedStart } from "./cell-model.js";
import type { Step } from "./step.js";
import type { StoreModel } from "./store-model.js";
import type { ViolationReporter } from "./violation.js";

/** A cell for which an observer has recorded something. */
export interface RecordedOf {
  readonly cell: CellModel;
  readonly observer: string;
}

/**
 * Tracks up to which timestamp each observer has handled each cell, from its acknowledgments and
 * parked records. Checks that no two runs committed for one change (invariant 15).
 */
export class Observed {
  readonly #reporter: ViolationReporter;
  readonly #model: StoreModel;
  /** The cells whose records the last step changed. */
  readonly changed: RecordedOf[] = [];

  constructor(reporter: ViolationReporter, model: StoreModel) {
    this.#reporter = reporter;
    this.#model = model;
  }

  /** Adopts the records that existed before the watcher began. */
  adopt(step: Step): void {
    for (const { cell } of step.committed) this.#take(cell);
  }

  /**
   * Adopts the records that were committed, and drops those that collection deleted with a delete
   * marker.
   */
  update(step: Step): void {
    this.changed.length = 0;
    for (const { cell, of } of step.committed) if (cell.recordOf !== undefined) this.#checkRun(cell, of);
    for (const { cell } of step.committed) this.#take(cell);
    let last: CellModel | undefined;
    for (const { cell } of step.writesRemoved) {
      if (cell !== last) this.#take(cell);
      last = cell;
    }
  }

  #take(cell: CellModel): void {
    const { recordOf } = cell;
    if (recordOf === undefined) return;
    const { observer, column, kind } = recordOf;
    const observed = this.#model.cell(cell.parent, column);
    const newest = cell.newest;
    observed.stateOf(observer)[kind === "acknowledgment" ? "acknowledged" : "parked"] = recorded(newest);
    this.changed.push({ cell: observed, observer });
  }

  /**
   * Checks a new acknowledgment before it is adopted: a change must have been committed since the
   * previous acknowledgment.
   */
  #checkRun(cell: CellModel, version: CellVersion): void {
    const { kind, observer, column } = cell.recordOf!;
    const run = recorded(version);
    if (kind !== "acknowledgment" || run === undefined) return;
    const observed = this.#model.cell(cell.parent, column);
    const { acknowledged: last, parked } = observed.stateOf(observer);
    if (last === undefined || last.version !== run.version || last.start === run.start) return;
    // If the start timestamps are equal, no run took place. The acknowledgment discards a parked
    // change by hand, and repeats the start timestamp at which the change was parked.
    if (parked?.start === run.start) return;
    const change = observed.versions[observed.indexAt(run.start)];
    if (change !== undefined && change.commit > last.start) return;
    const message =
      `observer ${observer} ran at ${last.start} and at ${run.start}, but nothing was committed between them ` +
      `(the newest change is that at ${change?.commit ?? "no time"})`;
    this.#reporter.report(15, observed.name, message);
  }
}

function recorded(version: CellVersion | undefined): RecordedStart | undefined {
  return version?.value === undefined ? undefined : decodeAcknowledgment(version.value);
}

/**
 * Returns the record if it belongs to this registration. Records of an earlier observer with the
 * same name do not count.
 */
function ofRegistration(
  { record }: RegisteredObserver,
  recordedStart: RecordedStart | undefined,
): RecordedStart | undefined {
  return recordedStart !== undefined && recordedStart.start >= record.since ? recordedStart : undefined;
}

/**
 * Returns the timestamp up to which an observer's runs have handled a cell, or undefined if no run
 * has.
 */
export function acknowledgedUpTo(cell: CellModel, observer: RegisteredObserver): number | undefined {
  return ofRegistration(observer, cell.observed.get(observer.name)?.acknowledged)?.start;
}

/** Returns the timestamp up to which an observer has handled or parked the changes of a cell. */
export function dealtWithUpTo(cell: CellModel, observer: RegisteredObserver): number {
  const state = cell.observed.get(observer.name);
  if (state === undefined) return 0;
  const { acknowledged, parked } = state;
  return Math.max(
    ofRegistration(observer, acknowledged)?.start ?? 0,
    ofRegistration(observer, parked)?.start ?? 0,
  );
}
