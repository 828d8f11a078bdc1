import type { RetryingShown } from "../api/index.js";
import { errorText } from "../failures/groups.js";
import type { RetryingChange } from "../failures/retrying.js";
import { observedCellName } from "./parked.js";
import type { KnownTables } from "./tables.js";

/** A change that failed and is tried again, as lists show it. */
export function retryingShown(tables: KnownTables, change: RetryingChange): RetryingShown {
  const { observer, attempts, since, notBefore } = change;
  return {
    ...observedCellName(tables, change),
    observer,
    attempts,
    changedAt: since.getTime(),
    nextAt: notBefore?.getTime(),
    error: errorText(change),
  };
}
