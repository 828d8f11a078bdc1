import type { Room } from "./room.js";

/** What a write queue asks of its folder, and tells it. Default: nothing. */
export interface QueueHooks {
  /**
   * Throws unless LMDB's files stand where others find them. Called with LMDB's write lock in hand,
   * and before an answer.
   */
  readonly checkPlace?: () => void;
  /**
   * The room that LMDB's next transaction has; undefined for plenty. Called with LMDB's write lock
   * in hand.
   */
  readonly room?: () => Room | undefined;
  /** A group waits for LMDB's write lock. */
  readonly waits?: () => void;
  /** LMDB is not asked for its write lock before; undefined for at once. */
  readonly ready?: () => Promise<void> | undefined;
}
