import type { Version } from "../../store/index.js";
import type { CellAddress } from "./address.js";
import { decodeLock, type LockRecord } from "./records.js";

/** A lock that a read or a write has met. */
export interface MetLock {
  readonly cell: CellAddress;
  readonly start: number;
  readonly lock: LockRecord;
}

/** Decodes a lock that a read showed. Call it at once, because the bytes may only be lent. */
export function metLock(cell: CellAddress, version: Version): MetLock {
  return { cell, start: version.timestamp, lock: decodeLock(version.value) };
}

/**
 * How often one reader may push the commit timestamps of writers above its own timestamp. After
 * that, the reader waits for the lock's owner instead.
 */
export const pushesPerTransaction = 16;

/**
 * The transaction that met a lock: a reader at `start`, or a writer. It keeps this state while it
 * resolves the locks that it meets, one after another.
 */
export interface Resolution {
  readonly start: number;
  readonly role: "reader" | "writer";
  readonly signal: AbortSignal | undefined;
  /**
   * Start timestamps of transactions whose locks this reader may ignore. If they commit, they
   * commit after its snapshot.
   */
  readonly passed: Set<number>;
  /** Pushes left. At 0, the reader waits for the lock's owner instead. */
  pushesLeft: number;
  attempt: number;
}

/** The state of a reader that has not met a lock yet. */
export function newResolution(start: number, signal: AbortSignal | undefined): Resolution {
  return {
    start,
    role: "reader",
    signal,
    passed: new Set(),
    pushesLeft: pushesPerTransaction,
    attempt: 0,
  };
}

/**
 * The result for one lock. `gone`: read again. `passed`: the reader may ignore the lock.
 * `standing`: the lock's owner is alive.
 */
export type ResolutionOutcome = "gone" | "passed" | "standing";
