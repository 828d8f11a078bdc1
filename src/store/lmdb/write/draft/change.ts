import type { Databases } from "../../record/databases.js";
import type { RecordKey } from "../../record/key.js";
import type { Slab } from "./slab.js";

/** The databases that changes are made to. */
export type StoreName = "cells" | "versions" | "protocol";

/** A record to put, or to remove if `valueEnd` is -1. The key and the value are in one slab. */
export class Change implements RecordKey {
  readonly store: StoreName;
  readonly bytes: Slab;
  readonly start: number;
  readonly length: number;
  /** The checksum of the key. */
  readonly sum: number;
  /**
   * The checksum of the key of the record's cell. Equal to `sum` if the record is the cell's entry.
   */
  readonly cellSum: number;
  valueStart: number;
  valueEnd: number;
  /** The `Draft` that makes the change, once it has accepted it. */
  draft: object | undefined;
  /** The next older change in the same slot of the pending changes. */
  below: Change | undefined;

  constructor(
    store: StoreName,
    bytes: Slab,
    start: number,
    length: number,
    sum: number,
    cellSum: number,
    valueStart = 0,
    valueEnd = -1,
  ) {
    this.store = store;
    this.bytes = bytes;
    this.start = start;
    this.length = length;
    this.sum = sum;
    this.cellSum = cellSum;
    this.valueStart = valueStart;
    this.valueEnd = valueEnd;
    this.draft = undefined;
    this.below = undefined;
  }

  get size(): number {
    return this.length + Math.max(this.valueEnd - this.valueStart, 0);
  }

  /** Makes the change inside a write transaction, or queues it outside of one. */
  make(databases: Databases): void {
    const database = databases[this.store];
    if (this.valueEnd < 0) {
      database.remove(this);
      return;
    }
    const value = this.bytes;
    value.start = this.valueStart;
    value.end = this.valueEnd;
    database.put(this, value);
  }
}
