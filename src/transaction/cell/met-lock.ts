import type { Version } from "../../store/index.js";
import type { CellAddress } from "./address.js";
import { decodeLock, type LockRecord } from "./records.js";

/** A lock that stood in somebody's way. */
export interface MetLock {
  readonly cell: CellAddress;
  readonly start: number;
  readonly lock: LockRecord;
}

/** Decodes what a read showed; the bytes may be lent, so this is done at once. */
export function metLock(cell: CellAddress, version: Version): MetLock {
  return { cell, start: version.timestamp, lock: decodeLock(version.value) };
}

/** Times that a reader pushes a writer's commit timestamp beyond its own before it waits like a writer. */
export const pushesPerTransaction = 16;

/** Who met the lock: a reader at `start`, or a writer. */
export interface Resolution {
  readonly start: number;
  readonly role: "reader" | "writer";
  readonly signal: AbortSignal | undefined;
  /** Start timestamps of transactions whose locks this reader may ignore: they commit after it, if at all. */
  readonly passed: Set<number>;
  /** Pushes left before the reader waits like a writer. */
  pushesLeft: number;
  attempt: number;
}

/** For a reader that has met no lock yet. */
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

/** How a lock was dealt with. `gone`: read again. `passed`: it may be ignored. `standing`: its owner lives. */
export type ResolutionOutcome = "gone" | "passed" | "standing";
