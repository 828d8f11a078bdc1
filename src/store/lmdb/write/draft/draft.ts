import type { Databases } from "../../record/databases.js";
import { type QueuedChanges, queueChanges, type StoreState, writeState } from "../../record/state.js";
import type { Change } from "./change.js";
import type { Fill } from "./fill.js";
import { queueInstructions } from "./instructions.js";
import type { Request } from "./request.js";
import type { Slab } from "./slab.js";

/** A draft takes no more requests once its changes have this many bytes, or are this many. */
const maxDraftBytes = 16 * 1024 ** 2;
const maxDraftChanges = 100_000;

/**
 * The writes of one group, planned before the group holds LMDB's write lock. They are right only if
 * the store is in the state `base` when the group gets the lock.
 */
export class Draft {
  readonly base: StoreState;
  /** The requests to answer, in order. */
  readonly requests: Request[] = [];
  readonly changes: Change[] = [];
  /** Ranges that it fills. None of the changes is in one of them. */
  readonly fills: Fill[] = [];
  /** The memory of the changes. */
  readonly slabs: Slab[] = [];
  /** The counter after these requests. */
  counter: number;
  early = false;
  /** How many waiting requests it covers. Some may have been given up before they were planned. */
  covered = 0;
  /** The first of the covered requests. */
  first: Request | undefined;
  #bytes = 0;

  constructor(base: StoreState) {
    this.base = base;
    this.counter = base.counter;
  }

  /** Whether it changes anything. */
  get writes(): boolean {
    return this.changes.length > 0 || this.fills.length > 0 || this.counter !== this.base.counter;
  }

  get isFull(): boolean {
    return this.#bytes >= maxDraftBytes || this.changes.length >= maxDraftChanges;
  }

  add(changes: readonly Change[]): void {
    for (let i = 0; i < changes.length; i++) {
      const change = changes[i]!;
      this.changes.push(change);
      this.#bytes += change.size;
      this.#use(change.bytes);
    }
  }

  addFill(fill: Fill): void {
    this.fills.push(fill);
    this.#bytes += fill.bytes;
    for (const { slab } of fill.sections) this.#use(slab);
  }

  /** Slabs are filled one after another, so a draft never returns to an earlier one. */
  #use(slab: Slab): void {
    if (this.slabs.at(-1) === slab) return;
    this.slabs.push(slab);
    slab.drafts++;
  }

  /**
   * Queues the changes for LMDB's write thread. Call it right after the group's transaction was
   * requested. `after` is the state after the group. Undefined if nothing was queued.
   */
  queue(databases: Databases, after: StoreState): QueuedChanges | undefined {
    const { changes, slabs } = this;
    return queueChanges(databases, slabs, () => {
      if (!queueInstructions(databases, changes, slabs)) {
        for (let i = 0; i < changes.length; i++) changes[i]!.make(databases);
      }
      for (const fill of this.fills) fill.make(databases);
      writeState(databases, after);
    });
  }
}
