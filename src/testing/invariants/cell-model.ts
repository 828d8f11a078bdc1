import type { RecordColumn, RegisteredObserver } from "../../observer/index.js";
import { type CellAddress, type LockRecord, type StatusRecord, showCell } from "../../transaction/index.js";
import type { HintModel } from "./hint-model.js";

/** A lock as it stands. */
export interface LockModel {
  readonly start: number;
  /** As it was first put: kind, value and primary stay. */
  readonly record: LockRecord;
  /** Raised by readers. */
  minCommit: number;
}

/** A version that is committed, whether or not its write record stands: the truth of a cell is made of these. */
export interface CellVersion {
  readonly commit: number;
  readonly start: number;
  readonly isDelete: boolean;
  readonly onePhase: boolean;
  /** Its value is, or was, in a data cell. */
  readonly external: boolean;
  /** Undefined for a delete, and where the data was missing when it was committed. */
  value: Uint8Array | undefined;
  /** The write record stands. */
  standing: boolean;
  /** The lock still stands in place of the write record. */
  pending: boolean;
  /** An observer's record that went with the delete marker of its cell: nobody misses it. */
  dropped: boolean;
}

/** What an observer has recorded of a cell: where its last run, or its giving up, started. */
export interface RecordedStart {
  readonly start: number;
  readonly version: number;
}

/** What stands of one observer and one cell, by the truth. */
export interface ObservedState {
  acknowledged: RecordedStart | undefined;
  parked: RecordedStart | undefined;
  /** Where its hint for the cell stands, once that was looked up. */
  hint: HintModel | undefined;
}

export interface RowModel {
  readonly table: string;
  readonly row: Uint8Array;
  /** The row's bytes as a string. */
  readonly key: string;
  /** By the strings of their columns' bytes. */
  readonly cells: Map<string, CellModel>;
  readonly isRegistry: boolean;
}

/** The observers of a cell, as of one registry. */
export interface Watchers {
  /** Counts the registries. */
  readonly edition: number;
  readonly strong: readonly RegisteredObserver[];
}

/** A cell: what stands in the store, and what is true of it. */
export class CellModel implements CellAddress {
  readonly parent: RowModel;
  readonly column: Uint8Array;
  /** The column's bytes as a string. */
  readonly key: string;
  /** Set where it is an observer's record of another cell of its row. */
  readonly recordOf: RecordColumn | undefined;
  locks: LockModel[] = [];
  /** Ascending by commit. */
  readonly versions: CellVersion[] = [];
  readonly data = new Map<number, Uint8Array>();
  readonly statuses = new Map<number, StatusRecord>();
  /** The greatest start timestamp at which it was read. */
  greatestRead = -1;
  /** By the observers' names. */
  readonly observed = new Map<string, ObservedState>();
  watchers: Watchers | undefined;

  constructor(parent: RowModel, key: string, column: Uint8Array, recordOf: RecordColumn | undefined) {
    this.parent = parent;
    this.key = key;
    this.column = column;
    this.recordOf = recordOf;
  }

  get table(): string {
    return this.parent.table;
  }

  get row(): Uint8Array {
    return this.parent.row;
  }

  /** For people. */
  get name(): string {
    return showCell(this).replaceAll("\0", ":");
  }

  lockOf(start: number): LockModel | undefined {
    for (const lock of this.locks) if (lock.start === start) return lock;
    return undefined;
  }

  /** The version that a two-phase transaction wrote. */
  versionOf(start: number): CellVersion | undefined {
    for (let index = this.versions.length - 1; index >= 0; index--) {
      const version = this.versions[index]!;
      if (version.start === start && !version.onePhase) return version;
      if (version.commit < start) return undefined;
    }
    return undefined;
  }

  /** The index of the newest version at or below `timestamp`; -1 for none. */
  indexAt(timestamp: number): number {
    let low = 0;
    let high = this.versions.length;
    if (high > 0 && this.versions[high - 1]!.commit <= timestamp) return high - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.versions[middle]!.commit <= timestamp) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Puts a version in its place. */
  insert(version: CellVersion): void {
    const index = this.indexAt(version.commit) + 1;
    if (index === this.versions.length) this.versions.push(version);
    else this.versions.splice(index, 0, version);
  }

  /** What is newest and not collected. */
  get newest(): CellVersion | undefined {
    const newest = this.versions.at(-1);
    return newest !== undefined && isPresent(newest) ? newest : undefined;
  }

  stateOf(observer: string): ObservedState {
    let state = this.observed.get(observer);
    if (state === undefined) {
      state = { acknowledged: undefined, parked: undefined, hint: undefined };
      this.observed.set(observer, state);
    }
    return state;
  }
}

/** Whether a version can be read: by its record, or through its lock. */
export function isPresent(version: CellVersion): boolean {
  return version.standing || version.pending;
}
