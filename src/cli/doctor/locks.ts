import type { Database } from "../../database/index.js";
import { counted } from "../layout.js";
import { formatDuration } from "../time.js";
import { type Finding, ok, problem, warning } from "./finding.js";

const mostCounted = 100_000;
const oldMs = 600_000;

/** Findings on locks whose owners do not refresh them any more. */
export async function examineLocks(db: Database, nowMs: number, signal: AbortSignal): Promise<Finding> {
  let count = 0;
  let expired = 0;
  let oldestMs = 0;
  for await (const { refreshedAt, ttlMs } of db.locks({ signal })) {
    if (count === mostCounted) break;
    count++;
    const ageMs = nowMs - refreshedAt.getTime();
    if (ageMs <= ttlMs) continue;
    expired++;
    oldestMs = Math.max(oldestMs, ageMs);
  }
  const stand = `${counted(count, "lock")}${count === mostCounted ? " or more" : ""}`;
  if (expired === 0) return ok("locks", count === 0 ? "none" : `${stand}, all alive`);
  const what = `${stand}, ${expired} of them without an owner, the oldest for ${formatDuration(oldestMs)}`;
  const advice = "Whoever meets them resolves them; at once: percolator locks LOCATION --resolve.";
  return oldestMs > oldMs ? problem("locks", what, advice) : warning("locks", what, advice);
}
