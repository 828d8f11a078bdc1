import type { AttachedTableStatus } from "../../postgres/index.js";
import { copyText, pendingText } from "../database/attached.js";
import { type Finding, ok, problem, warning } from "./finding.js";

const oldMs = 60_000;

/** Examines the attached SQL tables. */
export function examineAttached(tables: readonly AttachedTableStatus[]): readonly Finding[] {
  return tables.flatMap((table) => {
    const { source, parked, problems, oldestPendingAgeMs = 0, copy } = table;
    const check = `attached ${source}`;
    const again = "Correct the SQL table or its declaration. Then run `percolator attach LOCATION APP`.";
    if (parked !== undefined) {
      const what = `parked since ${parked.at.toISOString()}, so observers see no changes: ${parked.error}`;
      return [problem(check, what, again)];
    }
    if (problems.length > 0) return problems.map((what) => problem(check, what, again));
    const what = `${copyText(table)}, ${pendingText(table)}`;
    const start = "Start a worker with the module that declares it: percolator worker LOCATION APP.";
    if (oldestPendingAgeMs > oldMs) return [warning(check, what, start)];
    return [copy.phase === "done" ? ok(check, what) : warning(check, what, start)];
  });
}
