import type { RegisteredObserver } from "../../observer/index.js";
import { feedOfRow, feedTable } from "../../transaction/index.js";
import { type CellModel, type CellVersion, isPresent, isPublished } from "./cell-model.js";
import { acknowledgedUpTo, type Observed } from "./observed.js";
import type { RegistryModel } from "./registry-model.js";
import type { Step } from "./step.js";
import type { StoreModel } from "./store-model.js";
import type { ViolationReporter } from "./violation.js";

/**
 * Checks that garbage collection changes no read at or above the safepoint, and keeps each
 * observer's `previous`. Checks that it removes a delete marker only if no process can need it
 * (invariant 17).
 */
export class Collections {
  readonly #reporter: ViolationReporter;
  readonly #model: StoreModel;
  readonly #registry: RegistryModel;
  readonly #observed: Observed;

  constructor(reporter: ViolationReporter, model: StoreModel, registry: RegistryModel, observed: Observed) {
    this.#reporter = reporter;
    this.#model = model;
    this.#registry = registry;
    this.#observed = observed;
  }

  /**
   * Checks the removal of delete markers. Runs before the model drops the acknowledgments that were
   * deleted together with the markers.
   */
  checkMarkers(step: Step): void {
    for (const { cell, of } of step.writesRemoved) if (of.isDelete) this.#checkMarker(cell, of);
  }

  check(step: Step): void {
    let last: CellModel | undefined;
    let wentWithMarker = false;
    for (const { cell, of } of step.writesRemoved) {
      if (cell !== last) wentWithMarker = cell.recordOf !== undefined && this.#wentWithMarker(cell, step);
      if (wentWithMarker || this.#isOfRemovedFeed(cell, of)) of.dropped = true;
      last = cell;
    }
    last = undefined;
    for (const { cell } of step.writesRemoved) {
      if (cell !== last) this.checkCell(cell);
      last = cell;
    }
    for (const { cell, observer } of this.#observed.changed) {
      const registered = this.#registry.strongOf(cell).find((each) => each.name === observer);
      if (registered !== undefined) this.#checkPrevious(cell, registered);
    }
  }

  checkCell(cell: CellModel): void {
    this.#checkSnapshots(cell);
    for (const observer of this.#registry.strongOf(cell)) this.#checkPrevious(cell, observer);
  }

  /** Whether a record was deleted together with the delete marker of its cell. */
  #wentWithMarker(cell: CellModel, step: Step): boolean {
    const column = cell.recordOf!.column;
    const observed = this.#model.cell(cell.parent, column);
    // An earlier collection may already have removed the marker.
    if (presentBelow(observed.versions, observed.versions.length) === undefined) return true;
    return step.writesRemoved.some((removed) => removed.cell === observed && removed.of.isDelete);
  }

  /** Whether a version is an entry of a feed that was removed since. */
  #isOfRemovedFeed({ table, row }: CellModel, { commit }: CellVersion): boolean {
    if (table !== feedTable) return false;
    const feed = this.#registry.view.feedRecords.get(feedOfRow(row));
    return feed === undefined || commit < feed.record.since;
  }

  /** Checks that reads at the safepoint, and at each commit above it, return the true contents. */
  #checkSnapshots(cell: CellModel): void {
    const { versions } = cell;
    const { safepoint } = this.#model;
    for (let index = Math.max(0, cell.indexAt(safepoint)); index < versions.length; index++) {
      const version = versions[index]!;
      if (isPresent(version) || version.dropped || !isPublished(version)) continue;
      const shown = presentBelow(versions, index);
      if (version.isDelete && (shown === undefined || shown.isDelete)) continue;
      const message =
        `a read at ${Math.max(version.commit, safepoint)} must show the ${version.isDelete ? "deletion" : "value"} of ` +
        `${version.commit}, but shows ${shown === undefined ? "nothing" : `that of ${shown.commit}`}; the safepoint is ${safepoint}`;
      this.#reporter.report(17, cell.name, message);
    }
  }

  #checkPrevious(cell: CellModel, observer: RegisteredObserver): void {
    const acknowledged = acknowledgedUpTo(cell, observer);
    if (acknowledged === undefined) return;
    const { versions } = cell;
    const index = cell.indexAt(acknowledged);
    const previous = versions[index];
    if (previous === undefined || isPresent(previous)) return;
    const shown = presentBelow(versions, index);
    if (previous.isDelete && (shown === undefined || shown.isDelete)) return;
    const message =
      `observer ${observer.name} last ran at ${acknowledged}, but the version at ${previous.commit}, which its next run needs ` +
      "as its previous value, is gone";
    this.#reporter.report(17, cell.name, message);
  }

  #checkMarker(cell: CellModel, marker: CellVersion): void {
    const { safepoint } = this.#model;
    const { commit } = marker;
    // If the cell has a newer version at or below the safepoint, collection removes the marker as
    // it removes any older version.
    const newest = cell.versions[cell.indexAt(safepoint)];
    if (newest !== undefined && newest !== marker && newest.commit > commit) return;
    const why = this.#whyNeeded(cell, marker);
    if (why === undefined) return;
    this.#reporter.report(17, cell.name, `the delete marker at ${commit} was dropped, but ${why}`);
  }

  #whyNeeded(cell: CellModel, marker: CellVersion): string | undefined {
    const { commit } = marker;
    if (commit > this.#model.safepoint) return `the safepoint is only ${this.#model.safepoint}`;
    const after = cell.versions.find((version) => version.commit > commit);
    if (after !== undefined) return `there is a write after it, at ${after.commit}`;
    const lock = cell.locks[0];
    if (lock !== undefined) return `the transaction at ${lock.start} holds a lock`;
    for (const observer of this.#registry.strongOf(cell)) {
      if (covers(cell, observer, commit)) continue;
      return `observer ${observer.name} has acknowledged only ${acknowledgedUpTo(cell, observer) ?? "nothing"}`;
    }
    return undefined;
  }
}

function presentBelow(versions: readonly CellVersion[], index: number): CellVersion | undefined {
  for (let below = index - 1; below >= 0; below--) {
    const version = versions[below]!;
    if (isPresent(version) && isPublished(version)) return version;
  }
  return undefined;
}

/** Whether an observer has handled a deletion, or will never have to. */
function covers(cell: CellModel, observer: RegisteredObserver, marker: number): boolean {
  const acknowledged = acknowledgedUpTo(cell, observer);
  if (acknowledged !== undefined) return acknowledged >= marker;
  // The observer has never run for this cell, and a deletion before its registration changes
  // nothing for it. Collection also keeps the marker until each backfill of the observer has passed
  // the row. This check ignores backfills, because the collection may have begun before the
  // backfill or before the registration.
  return marker <= observer.record.since;
}
