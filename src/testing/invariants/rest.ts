import { InternalError } from "../../errors/index.js";
import type { RowStore } from "../../store/index.js";
import { byteString } from "../../store/index.js";
import type { CellModel, CellVersion } from "./cell-model.js";
import type { Cells } from "./cells.js";
import type { Collections } from "./collection.js";
import type { Hints } from "./hints.js";
import type { RegistryModel } from "./registry-model.js";
import { isTransactional, type StoreModel } from "./store-model.js";
import { storedVersions } from "./stored-versions.js";
import type { ViolationReporter } from "./violation.js";

/** The state that a database at rest is expected to have. */
export interface AtRestOptions {
  /**
   * Whether all observers were drained, so that there is no hint and nothing is due. Default: true.
   */
  readonly drained?: boolean | undefined;
  /** Whether every lock was resolved. Default: true. */
  readonly resolved?: boolean | undefined;
}

export interface RestParts {
  readonly store: RowStore;
  readonly model: StoreModel;
  readonly registry: RegistryModel;
  readonly cells: Cells;
  readonly hints: Hints;
  readonly collections: Collections;
}

/**
 * Checks the whole store when nothing is in progress (invariant 16), and checks each of its cells
 * once more.
 */
export function checkAtRest(parts: RestParts, reporter: ViolationReporter, options: AtRestOptions): void {
  const { store, model, registry, cells, hints, collections } = parts;
  compare(store, model);
  const { drained = true, resolved = true } = options;
  for (const cell of model.cells()) {
    cells.checkWhole(cell);
    hints.checkCell(cell);
    collections.checkCell(cell);
    if (resolved) checkUnlocked(cell, reporter);
    if (!drained) continue;
    for (const observer of registry.strongOf(cell)) {
      const due = hints.dueOn(cell, observer);
      if (due === undefined) continue;
      reporter.report(16, cell.name, `the change at ${due} is still due for observer ${observer.name}`);
    }
  }
  if (drained) checkNoHints(parts, reporter);
}

function checkUnlocked(cell: CellModel, reporter: ViolationReporter): void {
  for (const { start } of cell.locks) {
    reporter.report(16, cell.name, `the lock of the transaction at ${start} still exists`);
  }
}

/**
 * Checks that no hint of a registered observer is left. The hints of an unregistered observer do
 * not matter.
 */
function checkNoHints({ model, registry }: RestParts, reporter: ViolationReporter): void {
  for (const [name, hints] of model.hints) {
    const observer = registry.view.observers.get(name);
    if (observer === undefined) continue;
    for (const { row, column, stamps } of hints.values()) {
      if (stamps.length === 0) continue;
      const where = `${observer.record.table}/${row}/${column}`.replaceAll("\0", ":");
      reporter.report(16, where, `a hint of observer ${name} still exists, at ${stamps.join(", ")}`);
    }
  }
}

/**
 * Throws unless the watcher's model contains exactly the versions in the store. If they differ,
 * none of the watcher's results can be trusted.
 */
function compare(store: RowStore, model: StoreModel): void {
  let known = 0;
  for (const cell of model.cells()) {
    known += cell.locks.length + cell.data.size + cell.statuses.size;
    for (const version of cell.versions) if (version.standing) known++;
  }
  let standing = 0;
  for (const table of model.tables.keys()) {
    for (const { row, column, part, timestamp } of storedVersions(store, table)) {
      const cell = model.find(table, byteString(row), byteString(column));
      if (!isTransactional(table, row)) continue;
      standing++;
      if (cell !== undefined && stands(cell, part, timestamp)) continue;
      throw new InternalError(
        `The watcher was not told of ${part}@${timestamp} of ${cell?.name ?? table}: it must watch from the first change ` +
          "on, or learn the existing cells by `adopt()`.",
      );
    }
  }
  if (standing !== known) {
    throw new InternalError(`The watcher knows ${known} versions, but the store has ${standing}.`);
  }
}

function stands(cell: CellModel, part: string, timestamp: number): boolean {
  switch (part) {
    case "lock":
      return cell.lockOf(timestamp) !== undefined;
    case "write":
      return isStanding(cell.versions[cell.indexAt(timestamp)], timestamp);
    case "data":
      return cell.data.has(timestamp);
    default:
      return cell.statuses.has(timestamp);
  }
}

function isStanding(version: CellVersion | undefined, commit: number): boolean {
  return version !== undefined && version.commit === commit && version.standing;
}
