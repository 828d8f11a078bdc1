import {
  type RegisteredObserver,
  type RegistryCell,
  type RegistryView,
  registryOf,
} from "../../observer/index.js";
import type { CellModel } from "./cell-model.js";
import type { Step } from "./step.js";

const nobody: readonly RegisteredObserver[] = Object.freeze([]);

/** The true registry. Each change takes effect at its commit point. */
export class RegistryModel {
  readonly #cells = new Set<CellModel>();
  #view: RegistryView = registryOf(0, []);
  #edition = 0;
  #registrations = "";

  get view(): RegistryView {
    return this.#view;
  }

  /** The number of the view. Each change of the registry makes a new one. */
  get edition(): number {
    return this.#edition;
  }

  /** Adopts what was committed. Returns whether the set of observers changed. */
  update(step: Step): boolean {
    let changed = false;
    for (const { cell } of step.committed) {
      if (!cell.parent.isRegistry) continue;
      this.#cells.add(cell);
      changed = true;
    }
    return changed && this.#rebuild();
  }

  #rebuild(): boolean {
    const cells: RegistryCell[] = [];
    let newest = 0;
    for (const { row, column, versions } of this.#cells) {
      const { commit, value } = versions.at(-1)!;
      cells.push({ row, column, commit, value });
      newest = Math.max(newest, commit);
    }
    this.#view = registryOf(newest, cells);
    this.#edition++;
    const registrations = [...this.#view.observers.values()]
      .map(({ record }) => `${record.name}@${record.since}`)
      .join();
    const isOther = registrations !== this.#registrations;
    this.#registrations = registrations;
    return isOther;
  }

  /** Returns the observers that watch a cell of a column or family with values. */
  strongOf(cell: CellModel): readonly RegisteredObserver[] {
    const { watchers } = cell;
    if (watchers?.edition === this.#edition) return watchers.strong;
    const strong =
      cell.recordOf !== undefined
        ? nobody
        : this.#view.watching(cell.table, cell.column).filter((observer) => !observer.isWeak);
    cell.watchers = { edition: this.#edition, strong };
    return strong;
  }
}
