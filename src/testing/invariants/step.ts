import type { StatusRecord } from "../../transaction/index.js";
import type { CellModel, CellVersion, LockModel } from "./cell-model.js";
import type { HintModel } from "./hint-model.js";

export interface OfCell<T> {
  readonly cell: CellModel;
  readonly of: T;
}

/** A deletion of a hint's versions. */
export interface HintRemoval {
  readonly hint: HintModel;
  /** Timestamps that went. */
  readonly stamps: readonly number[];
  /** Versions at or below it were deleted. */
  readonly upTo: number;
}

/** What one applied mutation or batch has changed. Used again for each. */
export class Step {
  /** The timestamp that a batch took. */
  commit: number | undefined;
  readonly locksPut: OfCell<LockModel>[] = [];
  readonly locksRemoved: OfCell<LockModel>[] = [];
  /** Write records that were put. */
  readonly written: OfCell<CellVersion>[] = [];
  /** Versions whose write record says something else than their locks did. */
  readonly changed: OfCell<CellVersion>[] = [];
  /** Versions that became true: by a write record, or by the commit point of the transaction that holds the lock. */
  readonly committed: OfCell<CellVersion>[] = [];
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

  /** Whether anything has changed that could break an invariant: a hint that was put cannot. */
  get isIdle(): boolean {
    for (const list of this.#lists) if (list.length > 0) return false;
    return true;
  }
}
