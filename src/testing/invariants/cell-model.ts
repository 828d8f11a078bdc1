import type { RecordColumn, RegisteredObserver } from "../../observer/index.js";
import { type CellAddress, type LockRecord, type StatusRecord, showCell } from "../../transaction/index.js";
import type { HintModel } from "./hint-model.js";

/** A lock that is in the store. */
export interface LockModel {
  readonly start: number;
  /** The lock as the transaction first put it. Its kind, value and primary never change. */
  readonly record: LockRecord;
  /** The lowest timestamp at which the transaction may commit. Readers raise it. */
  minCommit: number;
}

/**
 * A committed version, whether or not its write record exists yet. These versions are the true
 * contents of a cell.
 */
export interface CellVersion {
  readonly commit: number;
  readonly start: number;
  readonly isDelete: boolean;
  readonly onePhase: boolean;
  /** Whether a bulk load put it. `start` then identifies the load. */
  readonly loaded: boolean;
  /**
   * The lowest timestamp at which a read shows the version: its commit timestamp, or for a loaded
   * version that of the load's publication. Infinity while the load is not published.
   */
  visibleFrom: number;
  /** Whether its value is, or was, in a data cell. */
  readonly external: boolean;
  /** Undefined for a delete, and if the data was missing at the commit. */
  value: Uint8Array | undefined;
  /** Whether the write record is in the store. */
  standing: boolean;
  /** Whether the lock is still in the store, in place of the write record. */
  pending: boolean;
  /**
   * Whether this is an observer's record that was deleted together with the observed cell's delete
   * marker. No process needs such a record.
   */
  dropped: boolean;
}

/**
 * What an observer has recorded for a cell: the start timestamp of its last run, or of the run
 * after which the cell's change was parked.
 */
export interface RecordedStart {
  readonly start: number;
  readonly version: number;
}

/** The true state of one observer and one cell. */
export interface ObservedState {
  acknowledged: RecordedStart | undefined;
  parked: RecordedStart | undefined;
  /** The observer's hint for the cell, once it was looked up. */
  hint: HintModel | undefined;
}

export interface RowModel {
  readonly table: string;
  readonly row: Uint8Array;
  /** The row's bytes as a string. */
  readonly key: string;
  /** The row's cells, by the bytes of their columns as strings. */
  readonly cells: Map<string, CellModel>;
  readonly isRegistry: boolean;
}

/** The observers of a cell, according to one edition of the registry. */
export interface Watchers {
  /** Number of the registry's edition. */
  readonly edition: number;
  readonly strong: readonly RegisteredObserver[];
}

/**
 * A cell: its records in the store, and its committed versions, including those that are not rolled
 * forward yet.
 */
export class CellModel implements CellAddress {
  readonly parent: RowModel;
  readonly column: Uint8Array;
  /** The column's bytes as a string. */
  readonly key: string;
  /** Set if the cell is an observer's record for another cell of the same row. */
  readonly recordOf: RecordColumn | undefined;
  locks: LockModel[] = [];
  /** The versions, in ascending order of their commit timestamps. */
  readonly versions: CellVersion[] = [];
  readonly data = new Map<number, Uint8Array>();
  readonly statuses = new Map<number, StatusRecord>();
  /** The greatest start timestamp at which the cell was read. */
  greatestRead = -1;
  /** What each observer has recorded for the cell, by the observer's name. */
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

  /** The cell's name for messages. */
  get name(): string {
    return showCell(this).replaceAll("\0", ":");
  }

  lockOf(start: number): LockModel | undefined {
    for (const lock of this.locks) if (lock.start === start) return lock;
    return undefined;
  }

  /** Returns the version that a two-phase transaction wrote. */
  versionOf(start: number): CellVersion | undefined {
    for (let index = this.versions.length - 1; index >= 0; index--) {
      const version = this.versions[index]!;
      if (version.start === start && !version.onePhase) return version;
      if (version.commit < start) return undefined;
    }
    return undefined;
  }

  /** Returns the index of the newest version at or below `timestamp`, or -1 if there is none. */
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

  /** Inserts a version at its place. */
  insert(version: CellVersion): void {
    const index = this.indexAt(version.commit) + 1;
    if (index === this.versions.length) this.versions.push(version);
    else this.versions.splice(index, 0, version);
  }

  /** The newest version that was not collected, and is published if a load put it. */
  get newest(): CellVersion | undefined {
    const newest = this.versions.at(-1);
    return newest !== undefined && isPresent(newest) && isPublished(newest) ? newest : undefined;
  }

  /**
   * The version that a read at `timestamp` shows. If a loaded version is not visible, there is no
   * other, because a load begins with an empty range.
   */
  shownAt(timestamp: number): CellVersion | undefined {
    const version = this.versions[this.indexAt(timestamp)];
    return version !== undefined && version.visibleFrom <= timestamp ? version : undefined;
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

/** Whether a version can be read: by its write record, or through its lock. */
export function isPresent(version: CellVersion): boolean {
  return version.standing || version.pending;
}

/** Whether a version is an ordinary one, or was put by a load that is published. */
export function isPublished(version: CellVersion): boolean {
  return version.visibleFrom !== Number.POSITIVE_INFINITY;
}
