import { type LockInfo, showCell } from "../../transaction/index.js";

/** Converts a lock to JSON. */
export function lockToJson(lock: LockInfo): object {
  const { startTimestamp, kind, isPrimary, session, minCommitTimestamp, refreshedAt, ttlMs } = lock;
  return {
    cell: showCell(lock.cell),
    startTimestamp,
    kind,
    primary: showCell(lock.primary),
    isPrimary,
    session,
    minCommitTimestamp,
    refreshedAt: refreshedAt.toISOString(),
    ttlMs,
    valueBytes: lock.valueBytes ?? null,
  };
}
