import { definition } from "../../schema/index.js";
import { pastTable } from "../past/past.js";
import type { KnownTables } from "./tables.js";

/**
 * The tables that recipes declare for themselves beside the table that programs read: the end of
 * their names and their columns. A table is recognized by both, and by the table beside which it
 * stands.
 */
const inner: readonly (readonly [end: string, columns: string])[] = [
  ["_updates", "update"],
  ["_buckets", "due resume"],
  ["_due", "due"],
  ["_due", "delays"],
  ["_parked", "parked value"],
  ["_rows", "contribution"],
  ["_rows", "terms"],
  ["_rows", "due right"],
  ["_sums", "sum"],
  ["_ranks", "value"],
  ["_links", "link"],
  ["_fans", "due resume"],
  ["_state", "version"],
  ["_state", "combined due version"],
];

/** Whether a table belongs to a recipe or to the dashboard itself. */
export function isInternal(tables: KnownTables, name: string): boolean {
  return name === pastTable || besideWhich(tables, name) !== undefined;
}

/**
 * Whether programs neither read nor write a column: it holds records of the protocol, or its table is
 * internal. The column is named as views name it.
 */
export function isInternalColumn(tables: KnownTables, table: string, column: string): boolean {
  return column.startsWith("~") || isInternal(tables, table);
}

/**
 * The table that programs read and for which a recipe keeps this one. Undefined if no recipe keeps
 * the table.
 */
export function ownerOf(tables: KnownTables, name: string): string | undefined {
  let owner = besideWhich(tables, name);
  // A recipe that another one uses has its tables beside a table that is internal itself.
  for (let next = owner; next !== undefined; next = besideWhich(tables, next)) owner = next;
  return owner;
}

/** The table beside which the table of a recipe stands. Its name is shorter. */
function besideWhich(tables: KnownTables, name: string): string | undefined {
  const columns = tables.table(name)?.[definition].columns.keys();
  if (columns === undefined) return undefined;
  const shape = [...columns].sort().join(" ");
  const found = inner.find(
    ([end, those]) =>
      those === shape && name.endsWith(end) && tables.table(name.slice(0, -end.length)) !== undefined,
  );
  return found === undefined ? undefined : name.slice(0, -found[0].length);
}
