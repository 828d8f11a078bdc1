import {
  type Column,
  parseCellRowText,
  parsePrefixText,
  parseRowText,
  type TableDefinition,
} from "../../schema/index.js";
import { asUsage } from "../usage-error.js";

/** Parses the user's text as a row key. Throws a `UsageError` if it is not a key of this table. */
export function parseRow(table: TableDefinition, text: string): unknown {
  return asUsage(() => parseRowText(table, text));
}

/**
 * Parses a row key as {@link parseRow} does. For a cell of a family it also checks the combined
 * length of the row and the qualifier.
 */
export function parseCellRow(column: Column<unknown, unknown>, text: string): unknown {
  return asUsage(() => parseCellRowText(column, text));
}

/**
 * Parses the user's text as a prefix of row keys: the start of a string, or the leading parts of a
 * composite key.
 */
export function parsePrefix(table: TableDefinition, text: string): unknown {
  return asUsage(() => parsePrefixText(table, text));
}

/** Formats a row key in the form that commands accept. */
export function showRow(table: TableDefinition, row: unknown): string {
  return table.key.format(row);
}
