import { type Database, isPostgres } from "../../database/index.js";
import type { AttachedTableStatus } from "../../postgres/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import type { App } from "../input/module.js";
import { formatDuration } from "../time.js";

/** Loads what connects a database with SQL tables. Only some commands need it. */
export const loadPostgres = () => import("../../postgres/index.js");

/** The tables of a module that were declared with `attach`. */
export function attachedOf(app: App | undefined): readonly AnyTable[] {
  return (app?.tables ?? []).filter((table) => table[definition].source !== undefined);
}

/** The attached tables of a database. None if it is not on PostgreSQL. */
export async function readAttached(
  db: Database,
  place: string,
  app: App | undefined,
): Promise<readonly AttachedTableStatus[]> {
  if (!isPostgres(place)) return [];
  return await (await loadPostgres()).attachedTables(db, attachedOf(app));
}

export function attachedToJson(status: AttachedTableStatus): object {
  const { source, name, isAttached, parked, problems, pending, oldestPending, oldestPendingAgeMs, copy } =
    status;
  return {
    source,
    name,
    attached: isAttached,
    parked: parked === undefined ? null : { since: parked.at.toISOString(), error: parked.error },
    problems,
    pending,
    oldestPending: oldestPending?.toISOString() ?? null,
    oldestPendingAgeMs: oldestPendingAgeMs ?? null,
    copy: { phase: copy.phase, rows: copy.rows, estimatedRows: copy.estimatedRows ?? null },
  };
}

/** How far a table is: `copied`, or `copying, 500 of about 1000 rows`. */
export function copyText({ copy: { phase, rows, estimatedRows } }: AttachedTableStatus): string {
  if (phase === "done") return "copied";
  if (phase === "prune") return "comparing";
  return `copying, ${rows} ${estimatedRows ? `of about ${estimatedRows} ` : ""}rows`;
}

/** What waits: `nothing pending`, or `3 pending, the oldest for 2 s`. */
export function pendingText({ pending, oldestPendingAgeMs = 0 }: AttachedTableStatus): string {
  if (pending === 0) return "nothing pending";
  return `${pending} pending, the oldest for ${formatDuration(oldestPendingAgeMs)}`;
}
