import { decodeAcknowledgment, type RegisteredObserver } from "../../observer/index.js";
import type { CellModel, CellVersion, RecordedStart } from "./cell-model.js";
import type { Step } from "./step.js";
import type { StoreModel } from "./store-model.js";
import type { Reporter } from "./violation.js";

/** A cell of which an observer has recorded something. */
export interface RecordedOf {
  readonly cell: CellModel;
  readonly observer: string;
}

/**
 * How far observers have come with each cell, from their acknowledgments and parked records by the truth; and that no two runs
 * were committed for one change (invariant 15).
 */
export class Observed {
  readonly #reporter: Reporter;
  readonly #model: StoreModel;
  /** The cells of which the last step has changed what observers recorded. */
  readonly changed: RecordedOf[] = [];

  constructor(reporter: Reporter, model: StoreModel) {
    this.#reporter = reporter;
    this.#model = model;
  }

  /** Takes up the records that stood before anything was watched. */
  adopt(step: Step): void {
    for (const { cell } of step.committed) this.#take(cell);
  }

  /** Takes up the records that were committed, and those that collection took away with a delete marker. */
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

  /** Before a new acknowledgment is taken up: something has happened since the one before it. */
  #checkRun(cell: CellModel, version: CellVersion): void {
    const { kind, observer, column } = cell.recordOf!;
    const run = recorded(version);
    if (kind !== "acknowledgment" || run === undefined) return;
    const observed = this.#model.cell(cell.parent, column);
    const { acknowledged: last, parked } = observed.stateOf(observer);
    if (last === undefined || last.version !== run.version || last.start === run.start) return;
    // What is counted as handled by hand stands where it was given up on.
    if (parked?.start === run.start) return;
    const change = observed.versions[observed.indexAt(run.start)];
    if (change !== undefined && change.commit > last.start) return;
    const message =
      `observer ${observer} ran at ${last.start} and at ${run.start}, and nothing was committed between them ` +
      `(the newest change is that at ${change?.commit ?? "no time"})`;
    this.#reporter.report(15, observed.name, message);
  }
}

function recorded(version: CellVersion | undefined): RecordedStart | undefined {
  return version?.value === undefined ? undefined : decodeAcknowledgment(version.value);
}

/** The record of this registration: what one of the same name left before does not count. */
function ofRegistration(
  { record }: RegisteredObserver,
  recordedStart: RecordedStart | undefined,
): RecordedStart | undefined {
  return recordedStart !== undefined && recordedStart.start >= record.since ? recordedStart : undefined;
}

/** Up to which timestamp an observer's runs have handled a cell; undefined where none has. */
export function acknowledgedUpTo(cell: CellModel, observer: RegisteredObserver): number | undefined {
  return ofRegistration(observer, cell.observed.get(observer.name)?.acknowledged)?.start;
}

/** Up to which timestamp an observer has handled a cell, or was given up on. */
export function dealtWithUpTo(cell: CellModel, observer: RegisteredObserver): number {
  const state = cell.observed.get(observer.name);
  if (state === undefined) return 0;
  const { acknowledged, parked } = state;
  return Math.max(
    ofRegistration(observer, acknowledged)?.start ?? 0,
    ofRegistration(observer, parked)?.start ?? 0,
  );
}
