import type { AbsentGuard, Guard, PresentGuard } from "../../store/index.js";
import { encodeTimestamp } from "./records.js";

/**
 * The guards of the protocol (protocol §2.2). Each is a condition on one column of the mutated row.
 * S is a start timestamp, C a commit timestamp.
 */

const forever = Number.POSITIVE_INFINITY;

/** PREWRITE(S): no lock at all, no write record at S or later, no status of S. */
export function prewriteGuards(column: Uint8Array, start: number): AbsentGuard[] {
  return [
    { type: "absent", column, part: "lock", from: 0, to: forever },
    { type: "absent", column, part: "write", from: start, to: forever },
    { type: "absent", column, part: "txn", from: start, to: start + 1 },
  ];
}

/**
 * COMMIT(S, C): the transaction's own lock exists, and no reader has pushed its min_commit_ts above
 * C.
 */
export function commitGuard(column: Uint8Array, start: number, commit: number): PresentGuard {
  return { type: "present", column, part: "lock", at: start, below: encodeTimestamp(commit + 1) };
}

/** LOCKED(S): the lock of S exists. */
export function lockedGuard(column: Uint8Array, start: number): PresentGuard {
  return { type: "present", column, part: "lock", at: start };
}

/** LOCKVAL: the lock of S exists with exactly this value. */
export function lockValueGuard(column: Uint8Array, start: number, value: Uint8Array): PresentGuard {
  return { type: "present", column, part: "lock", at: start, equals: value };
}

/** FENCE(S): neither a lock nor a status of S exists, so a tombstone may be written. */
export function fenceGuards(column: Uint8Array, start: number): AbsentGuard[] {
  return [
    { type: "absent", column, part: "lock", from: start, to: start + 1 },
    { type: "absent", column, part: "txn", from: start, to: start + 1 },
  ];
}

/**
 * DROP(D): no lock, and no write record after D. Collection may then drop the delete marker at D.
 */
export function dropGuards(column: Uint8Array, marker: number): Guard[] {
  return [
    { type: "absent", column, part: "lock", from: 0, to: forever },
    { type: "absent", column, part: "write", from: marker + 1, to: forever },
  ];
}

/**
 * Guards of a one-phase commit on each cell that it writes or reads: no lock, and no write record
 * after S.
 */
export function onePhaseGuards(column: Uint8Array, start: number): AbsentGuard[] {
  return [
    { type: "absent", column, part: "lock", from: 0, to: forever },
    { type: "absent", column, part: "write", from: start + 1, to: forever },
  ];
}

/**
 * REWRITE(C, w): the write record at C is exactly w, and none is above C. Its value may then be
 * replaced by other bytes of the same meaning.
 */
export function rewriteGuards(column: Uint8Array, commit: number, write: Uint8Array): Guard[] {
  return [
    { type: "absent", column, part: "write", from: commit + 1, to: forever },
    { type: "present", column, part: "write", at: commit, equals: write },
  ];
}
