import { type Observer, observer } from "percolatordb";
import { expect } from "vitest";
import type { Model, ModelVersion } from "./model.js";
import { type Cell, cellId, derived, docs } from "./tables.js";

/** A run of an observer, with its arguments. */
export interface Run {
  readonly observer: "measure" | "copy";
  readonly row: string;
  readonly qualifier?: string | undefined;
  readonly value: string | undefined;
  readonly previous: string | undefined;
}

/** Titles with this beginning make their observer fail. */
const isBad = (value: string | undefined) => value?.startsWith("!") ?? false;

/** The observers of a real database. Every run calls `told`. */
export function modelObservers(told: (run: Run) => void): readonly Observer[] {
  const options = {
    attempts: 2,
    backoff: { initialMs: 0, maximumMs: 0 },
    timeoutMs: Number.POSITIVE_INFINITY,
  };
  const measure = observer(
    "measure",
    docs.title,
    (tx, { row, value, previous }) => {
      told({ observer: "measure", row, value, previous });
      if (isBad(value)) throw new Error("a bad title");
      if (value === undefined) tx.delete(derived.length, row);
      else tx.set(derived.length, row, value.length);
    },
    options,
  );
  const copy = observer(
    "copy",
    docs.tags,
    (tx, { row, qualifier, value, previous }) => {
      told({ observer: "copy", row, qualifier, value, previous });
      if (value === undefined) tx.delete(derived.tags.at(qualifier), row);
      else tx.set(derived.tags.at(qualifier), row, `${value}.`);
    },
    options,
  );
  const count = observer(
    "count",
    docs.poke,
    async (tx, { row }) => tx.set(derived.pokes, row, ((await tx.get(derived.pokes, row)) ?? 0) + 1),
    options,
  );
  return [measure, copy, count];
}

/** A row of the derived table, without its counters. */
interface DerivedRow {
  length?: number;
  readonly tags: Map<string, string>;
}

interface Observed {
  readonly cell: Cell;
  /**
   * The version that the last committed run has handled, or a parked version that was discarded
   * since.
   */
  acknowledged: ModelVersion | undefined;
  parked: ModelVersion | undefined;
  /** The value of the last run that committed. */
  applied: string | undefined;
  /** Retried, so that it is due although it has not changed. */
  again: boolean;
}

function unseen(cell: Cell): Observed {
  return { cell, acknowledged: undefined, parked: undefined, applied: undefined, again: false };
}

/** The expected state of the observers. */
export class ModelObservers {
  readonly #model: Model;
  readonly #observed = new Map<string, Observed>();
  /** Rows that were notified since everything was last handled. */
  readonly notified = new Set<string>();
  /** By row: its count when last checked. */
  readonly pokes = new Map<string, number>();

  constructor(model: Model) {
    this.#model = model;
  }

  #look(): readonly (Observed & { readonly newest: ModelVersion })[] {
    const looked: (Observed & { readonly newest: ModelVersion })[] = [];
    for (const { cell, versions } of this.#model.cells.values()) {
      if (cell.column !== "title" && cell.column !== "tags") continue;
      const id = cellId(cell);
      const known = this.#observed.get(id) ?? unseen(cell);
      this.#observed.set(id, known);
      looked.push(Object.assign(known, { newest: versions.at(-1)! }));
    }
    return looked;
  }

  /** Returns the cells that are due for an observer. */
  due(): readonly Cell[] {
    return this.#look()
      .filter(({ acknowledged, parked, again, newest }) => {
        return again || newest.commit > Math.max(acknowledged?.commit ?? 0, parked?.commit ?? 0);
      })
      .map(({ cell }) => cell);
  }

  /** Returns the parked cells. */
  parked(): readonly Cell[] {
    return this.#look()
      .filter(({ parked }) => parked !== undefined)
      .map(({ cell }) => cell);
  }

  /** Handles everything. Returns the runs that this takes. */
  drain(): readonly Run[] {
    const due = new Set(this.due().map(cellId));
    const runs: Run[] = [];
    for (const each of this.#look()) {
      const { cell, acknowledged, newest } = each;
      if (!due.has(cellId(cell))) continue;
      const value = newest.value as string | undefined;
      const previous = acknowledged?.value as string | undefined;
      const of =
        cell.column === "title"
          ? ({ observer: "measure" } as const)
          : { observer: "copy" as const, qualifier: cell.qualifier };
      runs.push({ ...of, row: cell.row as string, value, previous });
      each.again = false;
      if (cell.column === "title" && isBad(value)) each.parked = newest;
      else {
        each.parked = undefined;
        each.acknowledged = newest;
        each.applied = value;
      }
    }
    return runs;
  }

  retry(cell: Cell): void {
    const found = this.#observed.get(cellId(cell))!;
    found.parked = undefined;
    found.again = true;
  }

  discard(cell: Cell): void {
    const found = this.#observed.get(cellId(cell))!;
    found.acknowledged = found.parked;
    found.parked = undefined;
  }

  /**
   * Returns the expected rows of the derived table after everything is handled, with lengths and
   * tags.
   */
  derived(): ReadonlyMap<string, DerivedRow> {
    const rows = new Map<string, DerivedRow>();
    for (const { cell, applied } of this.#observed.values()) {
      if (applied === undefined) continue;
      const row: DerivedRow = rows.get(cell.row as string) ?? { tags: new Map() };
      if (cell.column === "title") row.length = applied.length;
      else row.tags.set(cell.qualifier ?? "", `${applied}.`);
      rows.set(cell.row as string, row);
    }
    return rows;
  }
}

/** A run that conflicted or failed may be repeated, with the same arguments. */
export function expectRuns(told: readonly Run[], expected: readonly Run[]): void {
  const texts = (runs: readonly Run[]) =>
    [
      ...new Set(
        runs.map((run) =>
          JSON.stringify([
            run.observer,
            run.row,
            run.qualifier ?? null,
            run.value ?? null,
            run.previous ?? null,
          ]),
        ),
      ),
    ].sort();
  expect(texts(told)).toEqual(texts(expected));
}
