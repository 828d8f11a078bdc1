import type { EventCell } from "../../events/index.js";
import { definition, isSystemPath, parsePath } from "../../schema/index.js";
import { asBuffer, showRow } from "../../transaction/index.js";
import type { CellName } from "../api.js";
import type { KnownTables } from "./tables.js";

/**
 * A column as commands name it, `name` or `name:qualifier`; of what an observer keeps: which, whose, and of what column. `*` stands
 * for all of a row.
 */
export function columnText(path: Uint8Array): string {
  if (path.length === 0) return "*";
  const { name, qualifier } = parsePath(path);
  if (qualifier === undefined) return name;
  if (!isSystemPath(path)) return `${name}:${qualifier}`;
  const [observer, column, cell] = qualifier.split("\0");
  return `${name} ${observer} ${cell === undefined ? column : `${column}:${cell}`}`;
}

/** A row's bytes as commands take its key; of a table that is not known, or a key that is damaged, as well as can be. */
export function rowText(tables: KnownTables, table: string, row: Uint8Array): string {
  const known = tables.table(table);
  if (known === undefined || row.length === 0) return showRow(asBuffer(row));
  const { key } = known[definition];
  try {
    return key.format(key.decode(row));
  } catch {
    return showRow(asBuffer(row));
  }
}

/** A cell by its names. */
export function cellName(tables: KnownTables, { table, row, column }: EventCell): CellName {
  return { table, row: rowText(tables, table, row), column: columnText(column) };
}
