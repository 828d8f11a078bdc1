import { codecFromTag } from "./catalog.js";
import type { Column } from "./column.js";
import type { TableDefinition } from "./definition.js";
import type { KeyCodec } from "./key/key.js";
import { qualifierBytes } from "./key/path.js";
import { isOneText, tuple } from "./key/tuple.js";
import { checkCellKey, describeRow, encodePrefix, encodeRow } from "./position.js";
import type { KeyPart } from "./value/codec.js";

/**
 * The row key of a text that a person typed. Throws an InvalidKeyError if it is not a key of this
 * table.
 */
export function parseRowText(table: TableDefinition, text: string): unknown {
  const row = table.key.parse(text);
  encodeRow(table, row);
  return row;
}

/** Like {@link parseRowText}, for a cell: row and qualifier together must be within the limit. */
export function parseCellRowText(column: Column<unknown, unknown>, text: string): unknown {
  const row = parseRowText(column.table, text);
  const where = `${column.table.name}.${column.name}, row ${describeRow(row)}`;
  checkCellKey(encodeRow(column.table, row), qualifierBytes(column.path), where);
  return row;
}

/**
 * The key prefix of a text that a person typed: the start of a string, or the leading parts of a
 * composite key.
 */
export function parsePrefixText(table: TableDefinition, text: string): unknown {
  const isPlain = isOneText(partTags(table.key) ?? []) && countParts(text) === 0;
  const prefix = isPlain ? text : (leadingParts(table.key, text)?.parse(text) ?? text);
  encodePrefix(table, prefix);
  return prefix;
}

/**
 * The bytes with which the rows begin that a person means by a text: a prefix as
 * {@link parsePrefixText} takes it, or for a composite key also the beginning of its first part
 * alone, without quotes and brackets.
 */
export function encodePrefixText(table: TableDefinition, text: string): Uint8Array {
  const tags = partTags(table.key);
  if (tags === undefined || tags.length < 2 || text.startsWith("["))
    return encodePrefix(table, parsePrefixText(table, text));
  if (tags[0] === "text") return tuple(codecFromTag("text") as KeyPart<string>).prefix(text as never);
  return encodePrefix(table, parsePrefixText(table, `[${text}]`));
}

/** The tags of the parts of a composite key. Undefined for any other key. */
export function keyPartTags(table: TableDefinition): readonly string[] | undefined {
  return partTags(table.key);
}

/**
 * The codec of the leading parts of a composite key, as many as the text has. Undefined if the
 * codecs are not known.
 */
function leadingParts(key: KeyCodec<unknown>, text: string): KeyCodec<unknown> | undefined {
  const tags = partTags(key);
  if (tags === undefined) return undefined;
  const [first, ...rest] = tags.slice(0, Math.max(1, countParts(text))).map((tag) => codecFromTag(tag));
  return tuple(first as KeyPart<unknown>, ...(rest as KeyPart<unknown>[])) as KeyCodec<unknown>;
}

function partTags(key: KeyCodec<unknown>): string[] | undefined {
  return /^tuple\((.+)\)$/.exec(key.tag)?.[1]?.split(",");
}

function countParts(text: string): number {
  try {
    const held: unknown = JSON.parse(text);
    return Array.isArray(held) ? held.length : 0;
  } catch {
    return 0;
  }
}
