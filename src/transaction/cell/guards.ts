import type { AbsentGuard, Guard, PresentGuard } from "../../store/index.js";
import { encodeTimestamp } from "./records.js";

/** The guards of the protocol, by its names. Each is a condition on one column of the row that is mutated. */

const forever = Number.POSITIVE_INFINITY;

/** No lock at all, no write record at S or later, no status of S. */
export function prewriteGuards(column: Uint8Array, start: number): AbsentGuard[] {
  return [
    { type: "absent", column, part: "lock", from: 0, to: forever },
    { type: "absent", column, part: "write", from: start, to: forever },
    { type: "absent", column, part: "txn", from: start, to: start + 1 },
  ];
}

/** The own lock stands, and nobody has pushed it beyond C. */
export function commitGuard(column: Uint8Array, start: number, commit: number): PresentGuard {
  return { type: "present", column, part: "lock", at: start, below: encodeTimestamp(commit + 1) };
}

/** The lock of S stands. */
export function lockedGuard(column: Uint8Array, start: number): PresentGuard {
  return { type: "present", column, part: "lock", at: start };
}

/** The lock of S stands with exactly this value. */
export function lockValueGuard(column: Uint8Array, start: number, value: Uint8Array): PresentGuard {
  return { type: "present", column, part: "lock", at: start, equals: value };
}

/** Neither a lock nor a status of S: a tombstone may be put. */
export function fenceGuards(column: Uint8Array, start: number): AbsentGuard[] {
  return [
    { type: "absent", column, part: "lock", from: start, to: start + 1 },
    { type: "absent", column, part: "txn", from: start, to: start + 1 },
  ];
}

/** No lock, and no write record after D: the delete marker at D may go. */
export function dropGuards(column: Uint8Array, marker: number): Guard[] {
  return [
    { type: "absent", column, part: "lock", from: 0, to: forever },
    { type: "absent", column, part: "write", from: marker + 1, to: forever },
  ];
}

/** No lock, and no write record after S: what a one-phase commit asks of each cell it writes. */
export function onePhaseGuards(column: Uint8Array, start: number): AbsentGuard[] {
  return [
    { type: "absent", column, part: "lock", from: 0, to: forever },
    { type: "absent", column, part: "write", from: start + 1, to: forever },
  ];
}
