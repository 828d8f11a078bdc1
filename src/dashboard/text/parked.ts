import type { ParkedChange } from "../../observer/index.js";
import { definition } from "../../schema/index.js";
import type { ParkedShown } from "../api/index.js";
import { makeId } from "./ids.js";
import type { KnownTables } from "./tables.js";

const maxOfError = 4_000;
const maxOfStack = 16_000;

/** A parked change as lists show it. */
export function parkedShown(tables: KnownTables, change: ParkedChange): ParkedShown {
  const { observer, table, column, qualifier, attempts, parkedAt, error } = change;
  const known = tables.table(table);
  const row = known === undefined ? String(change.row) : known[definition].key.format(change.row);
  return {
    id: makeId([observer, table, row, column, qualifier ?? null]),
    observer,
    table,
    row,
    column: qualifier === undefined ? column : `${column}:${qualifier}`,
    attempts,
    parkedAt: parkedAt.getTime(),
    error: `${error.name}: ${error.message}`.slice(0, maxOfError),
    stack: error.stack?.slice(0, maxOfStack),
  };
}
