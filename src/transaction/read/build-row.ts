import {
  type AnyTable,
  decodeValue,
  type Family,
  parsePath,
  type RowOf,
  type TableDefinition,
} from "../../schema/index.js";
import type { CommittedCell } from "../cell/committed.js";

/** Builds the row object that the user sees from the row's cells. */
export function buildRow<T extends AnyTable>(
  table: TableDefinition,
  row: unknown,
  cells: readonly CommittedCell[],
): RowOf<T> {
  const built: Record<string, unknown> = Object.create(null);
  for (const { property, kind } of table.columns.values()) if (kind === "family") built[property] = new Map();
  for (const cell of cells) {
    const { name, qualifier } = parsePath(cell.column);
    const declared = table.columns.get(name);
    // This program does not declare the column. Another program or an older version wrote it.
    if (declared?.codec === undefined) continue;
    const column = {
      kind: "column",
      table,
      name,
      qualifier,
      path: cell.column,
      codec: declared.codec,
    } as const;
    const value = decodeValue(column, row, cell.value!);
    const { property } = declared;
    if (qualifier === undefined) built[property] = value;
    else (built[property] as Map<string, unknown>).set(qualifier, value);
  }
  return built as unknown as RowOf<T>;
}

/** The cells of a family in one row, by qualifier. */
export function familyMap(
  family: Family<unknown, unknown>,
  row: unknown,
  cells: readonly CommittedCell[],
): ReadonlyMap<string, unknown> {
  const map = new Map<string, unknown>();
  for (const cell of cells) {
    const qualifier = parsePath(cell.column).qualifier!;
    map.set(qualifier, decodeValue(family.at(qualifier), row, cell.value!));
  }
  return map;
}
