import type { Room } from "./room.js";

/** What a write queue asks its folder, and reports to it. All are optional. */
export interface QueueHooks {
  /**
   * Throws if LMDB's files have been moved, deleted or replaced. The queue calls it while it holds
   * LMDB's write lock, and again before it acknowledges a write.
   */
  readonly checkPlace?: () => void;
  /**
   * The disk space for LMDB's next transaction. Undefined if there is plenty. The queue calls it
   * while it holds LMDB's write lock.
   */
  readonly room?: () => Room | undefined;
  /** Called when a group begins to wait for LMDB's write lock. */
  readonly waits?: () => void;
  /** The queue asks LMDB for its write lock only after this promise. Undefined means at once. */
  readonly ready?: () => Promise<void> | undefined;
}
