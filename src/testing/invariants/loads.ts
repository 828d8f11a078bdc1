import type { LoadRecord, RegistryView } from "../../observer/index.js";
import { contains } from "../../transaction/index.js";
import { type CellModel, type CellVersion, isPresent } from "./cell-model.js";
import type { OfCell, Step } from "./step.js";
import type { StoreModel } from "./store-model.js";
import type { ViolationReporter } from "./violation.js";

/** What the watcher knows of a bulk load. */
interface LoadModel {
  readonly record: LoadRecord;
  /** The timestamp of its records. Undefined before the first. */
  at: number | undefined;
  /** The records that are in the store, or were when the load was published. */
  readonly versions: Map<CellModel, CellVersion>;
}

export interface LoadsParts {
  readonly reporter: ViolationReporter;
  readonly model: StoreModel;
  /** Whether the store mutates only one row at a time. */
  readonly singleRows: boolean;
}

/**
 * The bulk loads: their records count as committed from the publication on. Checks that a load is
 * there as a whole or not at all, and that nothing else is committed in its ranges (invariant 19).
 */
export class Loads {
  readonly #parts: LoadsParts;
  readonly #loads = new Map<number, LoadModel>();

  constructor(parts: LoadsParts) {
    this.#parts = parts;
  }

  /** Adopts the records that existed before the watcher began. */
  adopt(step: Step, view: RegistryView): void {
    for (const record of view.loadRecords) this.#loads.set(record.start, this.#modelOf(record));
    for (const { cell, of } of step.loaded) {
      const load = this.#loads.get(of.start);
      if (load === undefined) continue;
      load.at = of.commit;
      load.versions.set(cell, of);
    }
    for (const load of this.#loads.values()) publish(load, step);
  }

  /** Adds the versions of a load that the step published to what the step committed. */
  update(step: Step, view: RegistryView, isViewNew: boolean): void {
    for (const { cell, of } of step.unloaded) this.#loads.get(of.start)?.versions.delete(cell);
    const published = isViewNew ? this.#takeView(view) : undefined;
    for (const each of step.loaded) this.#put(each);
    for (const { cell, of } of step.committed) this.#checkOutside(cell, of);
    // Last, because its versions join those that the step committed.
    for (const load of published ?? []) publish(load, step);
  }

  #modelOf(record: LoadRecord): LoadModel {
    const known = this.#loads.get(record.start);
    return { at: undefined, versions: new Map(), ...known, record };
  }

  /** Adopts the registry's loads. Returns those that were published. */
  #takeView({ loadRecords }: RegistryView): readonly LoadModel[] {
    const published: LoadModel[] = [];
    const gone = new Set(this.#loads.keys());
    for (const record of loadRecords) {
      const { start, state } = record;
      gone.delete(start);
      const before = this.#loads.get(start)?.record.state;
      if (before === "published" && state !== "published") {
        this.#report(record, nowhere, `it was published, and is ${state} now`);
      }
      const load = this.#modelOf(record);
      this.#loads.set(start, load);
      if (state === "published" && before !== "published") published.push(load);
    }
    for (const start of gone) this.#forget(start);
    return published;
  }

  #forget(start: number): void {
    const { record, versions } = this.#loads.get(start)!;
    this.#loads.delete(start);
    // On a store of single rows, a record may arrive after its deletion. No reader shows it.
    if (this.#parts.singleRows && record.state !== "published") return;
    for (const cell of versions.keys()) {
      this.#report(record, cell.name, "the registry forgot it while this record of it was in the store");
    }
  }

  #put({ cell, of }: OfCell<CellVersion>): void {
    const load = this.#loads.get(of.start);
    if (load?.record.state !== "loading") {
      if (this.#parts.singleRows && load?.record.state !== "published") return;
      const is = load === undefined ? "not in the registry" : load.record.state;
      this.#report({ start: of.start }, cell.name, `a record was put here when it was ${is}`);
      return;
    }
    if (load.at === undefined) this.#checkEmpty(load.record);
    load.at ??= of.commit;
    load.versions.set(cell, of);
    if (of.commit !== load.at) {
      this.#report(load.record, cell.name, `this record is at ${of.commit}, and others are at ${load.at}`);
    }
    const { ranges } = load.record;
    if (!ranges.some((range) => contains(range, cell.table, cell.row))) {
      this.#report(load.record, cell.name, "this record is outside of its ranges");
    }
  }

  /** Checks that the ranges have no version when the first record arrives. */
  #checkEmpty(record: LoadRecord): void {
    for (const range of record.ranges) {
      for (const row of this.#parts.model.tables.get(range.table)?.values() ?? []) {
        if (!contains(range, row.table, row.row)) continue;
        for (const cell of row.cells.values()) {
          for (const version of cell.versions) {
            if (!isPresent(version) || version.start === record.start) continue;
            const message = `its first record was put, but its range has a version at ${version.commit} here`;
            this.#report(record, cell.name, message);
          }
        }
      }
    }
  }

  /** Checks that a transaction wrote in no range of a load that it could not see. */
  #checkOutside(cell: CellModel, { start, commit }: CellVersion): void {
    for (const { record, at } of this.#loads.values()) {
      const { publishedAt = Number.POSITIVE_INFINITY } = record;
      if (at === undefined || start >= publishedAt) continue;
      if (!record.ranges.some((range) => contains(range, cell.table, cell.row))) continue;
      const when = record.publishedAt === undefined ? record.state : `published at ${publishedAt}`;
      const message = `the transaction from ${start} to ${commit} wrote here, in its range, and the load is ${when}`;
      this.#report(record, cell.name, message);
    }
  }

  #report({ start }: Pick<LoadRecord, "start">, where: string, message: string): void {
    this.#parts.reporter.report(19, where, `bulk load ${start}: ${message}`);
  }
}

const nowhere = "the registry";

function publish({ record, versions }: LoadModel, step: Step): void {
  if (record.publishedAt === undefined) return;
  for (const [cell, version] of versions) {
    if (version.visibleFrom === record.publishedAt) continue;
    version.visibleFrom = record.publishedAt;
    step.committed.push({ cell, of: version });
  }
}
