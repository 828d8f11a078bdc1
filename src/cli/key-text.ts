import {
  type Column,
  checkCellKey,
  codecFromTag,
  describeRow,
  encodePrefix,
  encodeRow,
  type KeyCodec,
  type KeyPart,
  qualifierBytes,
  type TableDefinition,
  tuple,
} from "../schema/index.js";
import { asUsage } from "./usage-error.js";

/** The row key of a user's text; a `UsageError` where it is none of this table. */
export function parseRow(table: TableDefinition, text: string): unknown {
  return asUsage(() => {
    const row = table.key.parse(text);
    encodeRow(table, row);
    return row;
  });
}

/** As {@link parseRow}, for a cell: with its qualifier, the row must be within the limit. */
export function parseCellRow(column: Column<unknown, unknown>, text: string): unknown {
  const row = parseRow(column.table, text);
  asUsage(() => {
    const where = `${column.table.name}.${column.name}, row ${describeRow(row)}`;
    checkCellKey(encodeRow(column.table, row), qualifierBytes(column.path), where);
  });
  return row;
}

/** The start of row keys that a user's text names: of a string, or the leading parts of a composite key. */
export function parsePrefix(table: TableDefinition, text: string): unknown {
  return asUsage(() => {
    const prefix = leadingParts(table.key, text)?.parse(text) ?? text;
    encodePrefix(table, prefix);
    return prefix;
  });
}

/** The codec of as many leading parts of a composite key as the text has; `undefined` where it tells nothing. */
function leadingParts(key: KeyCodec<unknown>, text: string): KeyCodec<unknown> | undefined {
  const tags = /^tuple\((.+)\)$/.exec(key.tag)?.[1]?.split(",");
  if (tags === undefined) return undefined;
  const [first, ...rest] = tags.slice(0, Math.max(1, countParts(text))).map((tag) => codecFromTag(tag));
  return tuple(first as KeyPart<unknown>, ...(rest as KeyPart<unknown>[])) as KeyCodec<unknown>;
}

function countParts(text: string): number {
  try {
    const held: unknown = JSON.parse(text);
    return Array.isArray(held) ? held.length : 0;
  } catch {
    return 0;
  }
}

/** A row key as commands take it. */
export function showRow(table: TableDefinition, row: unknown): string {
  return table.key.format(row);
}
