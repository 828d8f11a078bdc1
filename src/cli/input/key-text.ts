import {
  type Column,
  parseCellRowText,
  parsePrefixText,
  parseRowText,
  type TableDefinition,
} from "../../schema/index.js";
import { asUsage } from "../usage-error.js";

/** The row key of a user's text; a `UsageError` where it is none of this table. */
export function parseRow(table: TableDefinition, text: string): unknown {
  return asUsage(() => parseRowText(table, text));
}

/** As {@link parseRow}, for a cell: with its qualifier, the row must be within the limit. */
export function parseCellRow(column: Column<unknown, unknown>, text: string): unknown {
  return asUsage(() => parseCellRowText(column, text));
}

/** The start of row keys that a user's text names: of a string, or the leading parts of a composite key. */
export function parsePrefix(table: TableDefinition, text: string): unknown {
  return asUsage(() => parsePrefixText(table, text));
}

/** A row key as commands take it. */
export function showRow(table: TableDefinition, row: unknown): string {
  return table.key.format(row);
}
