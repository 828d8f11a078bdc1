import type { Database, DatabaseStatus } from "../database/index.js";
import type { Environment } from "../environment/index.js";
import { type AttachedLook, lookAtAttached } from "./attached.js";
import { type BacklogBounds, type ObserverBacklog, observerBacklogs } from "./backlog.js";
import { type Overdue, overdueSchedules } from "./overdue.js";

/** What the store holds at `now`. Every process sees the same. Counts stop at bounds. */
export interface Standing {
  readonly status: DatabaseStatus;
  readonly observers: readonly ObserverBacklog[];
  /** The schedules, each with the count of its changes that should have fired and have not. */
  readonly schedules: readonly Overdue[];
  readonly attached: AttachedLook;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Counts what the store holds. Fails if `closing` is aborted. */
export async function readStanding(
  db: Database,
  environment: Environment,
  max: BacklogBounds,
  closing: AbortSignal,
): Promise<Standing> {
  const now = environment.now();
  return {
    status: await db.status(),
    observers: await observerBacklogs(db, environment, max, closing),
    schedules: await overdueSchedules(db, now, closing, max.pending),
    attached: await lookAtAttached(db, max.pending),
    now,
  };
}
