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
  if (name === pastTable) return true;
  const columns = tables.table(name)?.[definition].columns.keys();
  if (columns === undefined) return false;
  const shape = [...columns].sort().join(" ");
  return inner.some(
    ([end, those]) =>
      those === shape && name.endsWith(end) && tables.table(name.slice(0, -end.length)) !== undefined,
  );
}
