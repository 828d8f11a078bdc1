import type { Database } from "../../database/index.js";
import { type Environment, sleep } from "../../environment/index.js";
import { counted } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { type Finding, ok, problem, warning } from "./finding.js";

const maxCounted = 100_000;
const oldMs = 600_000;

/**
 * Longest time that another process may hold a folder's write lock, in milliseconds. A write takes
 * milliseconds.
 */
const writeMs = 1_000;
const looks = 10;

/**
 * Reports a process that holds the folder's write lock and makes no progress. `holder` returns the
 * id of the process that holds the lock, or 0 if the lock is free.
 */
export async function examineWriteLock(
  environment: Environment,
  holder: () => Promise<{ readonly process: number; readonly transactions: number }>,
  signal: AbortSignal,
): Promise<Finding> {
  const first = await holder();
  if (first.process === 0) return ok("write lock", "held by no other process");
  for (let look = 0; look < looks; look++) {
    await sleep(environment, writeMs / looks, signal);
    const now = await holder();
    if (now.process !== first.process || now.transactions !== first.transactions) {
      return ok("write lock", "passes from process to process");
    }
  }
  return problem(
    "write lock",
    `process ${first.process} has held it for ${formatDuration(writeMs)} or more, and no other process can write`,
    `If it was stopped, continue it (kill -CONT ${first.process}); if it hangs, end it. Another process then takes over its lock.`,
  );
}

/** Reports transaction locks whose owners no longer refresh them. */
export async function examineLocks(db: Database, nowMs: number, signal: AbortSignal): Promise<Finding> {
  let count = 0;
  let expired = 0;
  let oldestMs = 0;
  for await (const { refreshedAt, ttlMs } of db.locks({ signal })) {
    if (count === maxCounted) break;
    count++;
    const ageMs = nowMs - refreshedAt.getTime();
    if (ageMs <= ttlMs) continue;
    expired++;
    oldestMs = Math.max(oldestMs, ageMs);
  }
  const stand = `${counted(count, "lock")}${count === maxCounted ? " or more" : ""}`;
  if (expired === 0) return ok("locks", count === 0 ? "none" : `${stand}, all alive`);
  const what = `${stand}, ${expired} expired, the oldest not refreshed for ${formatDuration(oldestMs)}`;
  const advice =
    "A transaction that meets an expired lock resolves it. To resolve them now: percolator locks LOCATION --resolve.";
  return oldestMs > oldMs ? problem("locks", what, advice) : warning("locks", what, advice);
}
