import type { QueuedChanges, StoreState } from "../record/state.js";
import type { Draft } from "./draft/draft.js";
import type { Request } from "./draft/request.js";
import type { Room } from "./room.js";

/** Requests that share one transaction and its flush (a group commit). */
export class Group {
  readonly number: number;
  readonly requests: Request[] = [];
  /** What was planned for the group before it had the write lock. */
  readonly draft: Draft | undefined;
  /**
   * The draft's records, queued behind the group's transaction. Undefined if they are not queued, or
   * are dropped.
   */
  queued: QueuedChanges | undefined;
  /** Whether LMDB has begun a transaction for the group. */
  begun = false;
  /**
   * LMDB's transaction for the group. Groups that follow each other closely may share a
   * transaction.
   */
  transaction: Transaction | undefined;
  /** Whether the group wrote anything. */
  wrote = false;
  /** Whether any of its requests may be answered before the flush. */
  early = false;
  /** Whether the group was committed or lost. Undefined until that is certain. */
  fate: "lost" | "committed" | undefined;

  constructor(number: number, draft?: Draft) {
    this.number = number;
    this.draft = draft;
  }

  /** Whether the group wrote records itself while it had the lock, instead of a draft's. */
  get wroteNow(): boolean {
    return this.wrote && this.queued === undefined;
  }

  /**
   * Whether the group's writes are certainly not visible. A failed put makes the whole commit fail
   * before anything is visible.
   */
  get cannotBeSeen(): boolean {
    return this.transaction === undefined || this.transaction.failure !== undefined || !this.wrote;
  }

  /**
   * Whether the draft is right: no other process has written since it was planned, and all of its
   * requests still wait. `state` is the store's state before the group.
   */
  isDraftRight(state: StoreState): boolean {
    if (this.draft === undefined) return false;
    const { base, requests, writes } = this.draft;
    if (writes && (this.queued === undefined || this.queued.failure !== undefined)) return false;
    const { room, failure } = this.transaction!;
    if (room !== undefined || failure !== undefined) return false;
    if (base.writer !== state.writer || base.group !== state.group) return false;
    return base.counter === state.counter && !requests.some((request) => request.settled);
  }

  /** Whether `state` shows that the group is committed. `writer` identifies the group's queue. */
  isCommittedBy(state: StoreState, writer: number): boolean {
    return state.writer === writer && state.group >= this.number;
  }

  /**
   * Whether the group was committed or lost. `state` is the store's state after the group's
   * transaction and before any later transaction of this queue. `writer` identifies the queue.
   * Undefined if another process has committed in between.
   */
  fateBy(state: StoreState, writer: number): "lost" | "committed" | undefined {
    if (this.cannotBeSeen) return "lost";
    if (this.isCommittedBy(state, writer)) return "committed";
    const { before } = this.transaction!;
    return state.writer === before.writer && state.group === before.group ? "lost" : undefined;
  }
}

/** One of LMDB's write transactions. */
export interface Transaction {
  /** LMDB's number for it. LMDB reuses the number if the transaction is not committed. */
  readonly id: number;
  /** Its write thread. No other transaction has the same one. */
  readonly thread: number;
  /** The store's state before it. */
  readonly before: StoreState;
  /** Start time on the monotonic clock, in milliseconds. */
  readonly started: number;
  /** The disk space for it. Undefined if there is plenty. */
  readonly room: Room | undefined;
  requests: number;
  /** Why it cannot be committed. Undefined if it can. */
  failure: unknown;
}
