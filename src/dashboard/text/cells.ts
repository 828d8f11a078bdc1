import type { EventCell } from "../../events/index.js";
import { definition, isSystemPath, parsePath } from "../../schema/index.js";
import { asBuffer } from "../../store/index.js";
import { showRow } from "../../transaction/index.js";
import type { CellName } from "../api/index.js";
import type { KnownTables } from "./tables.js";

/**
 * Returns a column's name as commands use it: `name` or `name:qualifier`. The name of an observer's
 * record consists of the kind of record, the observer, and the column that the observer watches.
 * The empty path means a whole row, and its name is `*`.
 */
export function columnText(path: Uint8Array): string {
  if (path.length === 0) return "*";
  const { name, qualifier } = parsePath(path);
  if (qualifier === undefined) return name;
  if (!isSystemPath(path)) return `${name}:${qualifier}`;
  const [observer, column, cell] = qualifier.split("\0");
  return `${name} ${observer} ${cell === undefined ? column : `${column}:${cell}`}`;
}

/**
 * A row's key as commands take it. Falls back to the bytes if the table is unknown or the key is
 * damaged.
 */
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

/** The names of a cell. */
export function cellName(tables: KnownTables, { table, row, column }: EventCell): CellName {
  return { table, row: rowText(tables, table, row), column: columnText(column) };
}
