import type { StoreState } from "../record/state.js";
import type { Request } from "./request.js";
import type { Room } from "./room.js";

/** Requests that share one transaction and its flush (a group commit). */
export class Group {
  readonly number: number;
  readonly requests: Request[] = [];
  /** Whether LMDB has begun a transaction for it. */
  begun = false;
  /** LMDB's transaction for it. Groups that follow each other closely may share one. */
  transaction: Transaction | undefined;
  /** Whether it wrote anything. */
  wrote = false;
  /** Whether any of its requests may be answered before the flush. */
  early = false;
  /** Whether it was committed or lost. Undefined until that is certain. */
  fate: "lost" | "committed" | undefined;

  constructor(number: number) {
    this.number = number;
  }

  /**
   * Whether it certainly cannot be seen. A failed put makes the whole commit fail before anything
   * is visible.
   */
  get cannotBeSeen(): boolean {
    return this.transaction === undefined || this.transaction.failure !== undefined || !this.wrote;
  }

  /**
   * Whether it was committed or lost, judged by the state after its transaction and before any
   * later one of this queue. `writer` identifies the queue. Undefined if another process has
   * committed in between.
   */
  fateBy(state: StoreState, writer: number): "lost" | "committed" | undefined {
    if (this.cannotBeSeen) return "lost";
    if (state.writer === writer && state.group >= this.number) return "committed";
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
