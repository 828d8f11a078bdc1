import type { StatusRecord } from "../../transaction/index.js";
import type { CellModel, CellVersion, LockModel } from "./cell-model.js";
import type { HintModel } from "./hint-model.js";

export interface OfCell<T> {
  readonly cell: CellModel;
  readonly of: T;
}

/** A deletion of versions of a hint. */
export interface HintRemoval {
  readonly hint: HintModel;
  /** Timestamps that were deleted. */
  readonly stamps: readonly number[];
  /** The deletion covered all versions at or below this timestamp. */
  readonly upTo: number;
}

/** The effects of one applied mutation or batch. The watcher reuses the object for each. */
export class Step {
  /** The commit timestamp of a batch. */
  commit: number | undefined;
  readonly locksPut: OfCell<LockModel>[] = [];
  readonly locksRemoved: OfCell<LockModel>[] = [];
  /** Versions whose write records were put. */
  readonly written: OfCell<CellVersion>[] = [];
  /** Versions whose write record contradicts their lock. */
  readonly changed: OfCell<CellVersion>[] = [];
  /**
   * Versions that were committed: by a write record, or by the commit point of the transaction that
   * holds the lock.
   */
  readonly committed: OfCell<CellVersion>[] = [];
  /** Versions that bulk loads put. They are committed when their loads are published. */
  readonly loaded: OfCell<CellVersion>[] = [];
  /** Versions of unpublished bulk loads that were deleted. */
  readonly unloaded: OfCell<CellVersion>[] = [];
  /** Versions whose write records were deleted. */
  readonly writesRemoved: OfCell<CellVersion>[] = [];
  readonly dataRemoved: OfCell<number>[] = [];
  readonly statusesPut: OfCell<{ readonly start: number; readonly status: StatusRecord }>[] = [];
  readonly statusesRemoved: OfCell<number>[] = [];
  readonly hintsRemoved: HintRemoval[] = [];

  readonly #lists: readonly unknown[][] = [
    this.locksPut,
    this.locksRemoved,
    this.written,
    this.changed,
    this.committed,
    this.loaded,
    this.unloaded,
    this.writesRemoved,
    this.dataRemoved,
    this.statusesPut,
    this.statusesRemoved,
    this.hintsRemoved,
  ];

  clear(commit: number | undefined): void {
    this.commit = commit;
    for (const list of this.#lists) if (list.length > 0) list.length = 0;
  }

  /** Whether nothing changed that could break an invariant. A new hint cannot break one. */
  get isIdle(): boolean {
    for (const list of this.#lists) if (list.length > 0) return false;
    return true;
  }
}
