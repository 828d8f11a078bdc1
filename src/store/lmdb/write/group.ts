import type { StoreState } from "../record/state.js";
import type { Request } from "./request.js";
import type { Room } from "./room.js";

/** Requests that share a transaction and its flush. */
export class Group {
  readonly number: number;
  readonly requests: Request[] = [];
  /** Whether a transaction was begun for it. */
  begun = false;
  /** LMDB's transaction that it went into. Groups that follow closely may share one. */
  transaction: Transaction | undefined;
  /** Whether anything was written. */
  wrote = false;
  /** Whether a request may be answered before the flush. */
  early = false;
  /** What became of it, once that was certain. */
  fate: "lost" | "committed" | undefined;

  constructor(number: number) {
    this.number = number;
  }

  /** A put that failed makes the commit fail before anything of it can be seen. */
  get cannotBeSeen(): boolean {
    return this.transaction === undefined || this.transaction.failure !== undefined || !this.wrote;
  }

  /**
   * What became of it by the state after its transaction and before any later one of the queue's,
   * whose groups `writer` names; undefined where another process has committed in between.
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
  /** LMDB gives it again where the transaction is not committed. */
  readonly id: number;
  /** Its write thread, which no other transaction has. */
  readonly thread: number;
  /** What `meta` said before it. */
  readonly before: StoreState;
  /** By the monotonic clock. */
  readonly started: number;
  /** Undefined for plenty. */
  readonly room: Room | undefined;
  requests: number;
  /** Why it cannot be committed. */
  failure: unknown;
}
