import type { ObservedCell, ParkedChange } from "../../observer/index.js";
import { definition } from "../../schema/index.js";
import type { CellName, ParkedShown } from "../api/index.js";
import { makeId } from "./ids.js";
import type { KnownTables } from "./tables.js";

const maxOfError = 4_000;
const maxOfStack = 16_000;

/** The names of the cell that an observer watches. */
export function observedCellName(
  tables: KnownTables,
  { table, row, column, qualifier }: ObservedCell,
): CellName {
  const known = tables.table(table);
  return {
    table,
    row: known === undefined ? String(row) : known[definition].key.format(row),
    column: qualifier === undefined ? column : `${column}:${qualifier}`,
  };
}

/** A parked change as lists show it. */
export function parkedShown(tables: KnownTables, change: ParkedChange): ParkedShown {
  const { observer, column, qualifier, attempts, parkedAt, error } = change;
  const name = observedCellName(tables, change);
  return {
    ...name,
    id: makeId([observer, name.table, name.row, column, qualifier ?? null]),
    observer,
    attempts,
    parkedAt: parkedAt.getTime(),
    error: `${error.name}: ${error.message}`.slice(0, maxOfError),
    stack: error.stack?.slice(0, maxOfStack),
  };
}
