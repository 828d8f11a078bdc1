import {
  type ErrorCode,
  InvalidKeyError,
  InvalidValueError,
  type NewerValueDetails,
  NewerValueError,
  type PercolatorError,
} from "../errors/index.js";
import type { Column } from "./column.js";
import type { TableDefinition } from "./definition.js";
import { describeValue } from "./describe.js";
import { keyCost, textKey } from "./key/key.js";
import { keyRoom } from "./key/key-part.js";
import { limits } from "./limits.js";
import { asBuffer } from "./utf8.js";

const shownParts = 8;

/** Describes a row key for messages: short, and without throwing for any value. */
export function describeRow(row: unknown): string {
  if (!Array.isArray(row)) return describeValue(row);
  const parts = row.slice(0, shownParts).map(describeValue).join(", ");
  return row.length > shownParts ? `[${parts}, …]` : `[${parts}]`;
}

/**
 * Describes a column for messages: `documents.contents`, or `documents.anchors["q"]` with a
 * qualifier.
 */
export function describeColumn(column: {
  readonly table: TableDefinition;
  readonly name: string;
  readonly qualifier?: string | undefined;
}): string {
  const { table, name, qualifier } = column;
  return qualifier === undefined
    ? `${table.name}.${name}`
    : `${table.name}.${name}[${describeValue(qualifier)}]`;
}

/** The bytes of a row key. Throws an {@link InvalidKeyError} that names the table and the key. */
export function encodeRow(table: TableDefinition, row: unknown): Uint8Array {
  try {
    return table.key.encode(row);
  } catch (error) {
    throw badRow(table, describeRow(row), error);
  }
}

/** The buffer that {@link lendRow} writes to. */
export const lentRow = Buffer.alloc(keyRoom);

/**
 * Like {@link encodeRow}, but writes to {@link lentRow}, where the bytes stay valid until the next
 * call. Returns how many bytes it wrote. If it returns less than 0, the caller must use
 * {@link encodeRow}.
 */
export function lendRow(table: TableDefinition, row: unknown): number {
  const { key } = table;
  if (key.encodeInto === undefined) return -1;
  try {
    return key.encodeInto(row, lentRow);
  } catch {
    return -1;
  }
}

/**
 * Whether a row is a string whose UTF-8 is its key, and certainly not too long. A store may then
 * encode the string itself, and check that it is well-formed.
 */
export function isShortText({ key }: TableDefinition, row: unknown): row is string {
  return key === textKey && typeof row === "string" && row.length * 3 <= limits.keyBytes;
}

/**
 * The key of a row's bytes, which are valid only during the call. Throws an {@link InvalidKeyError}
 * that names the table and the bytes.
 */
export function decodeRow(table: TableDefinition, bytes: Uint8Array): unknown {
  try {
    return table.key.decode(bytes);
  } catch (error) {
    throw badRow(table, `0x${asBuffer(bytes.subarray(0, 64)).toString("hex")}`, error);
  }
}

/**
 * Returns the bytes with which the keys that have this prefix begin. Throws an {@link
 * InvalidKeyError} that names the table and the prefix.
 */
export function encodePrefix(
  table: TableDefinition,
  prefix: unknown,
  option: "prefix" | "start" | "end" = "prefix",
): Uint8Array {
  try {
    return table.key.prefix(prefix);
  } catch (error) {
    throw badRow(table, `${option} ${describeRow(prefix)}`, error);
  }
}

/**
 * The bytes of a column's value. Throws an {@link InvalidValueError} that names the column and the
 * row.
 */
export function encodeValue<V, I>(column: Column<V, unknown, I>, row: unknown, value: I): Uint8Array {
  try {
    return column.codec.encode(value);
  } catch (error) {
    throw valueErrorAt(column, row, error);
  }
}

/**
 * The value of a column's bytes, which are valid only during the call. Throws an
 * {@link InvalidValueError} that names the column and the row.
 */
export function decodeValue<V>(column: Column<V, unknown>, row: unknown, bytes: Uint8Array): V {
  try {
    return column.codec.decode(bytes);
  } catch (error) {
    throw valueErrorAt(column, row, error);
  }
}

/**
 * Throws an {@link InvalidKeyError} if row and qualifier together exceed `limits.keyBytes`. `where`
 * begins the message. If it is a function, it is called only for an error.
 */
export function checkCellKey(row: Uint8Array, qualifier: Uint8Array, where: string | (() => string)): void {
  if ((row.length + qualifier.length) * 2 <= limits.keyBytes) return;
  const cost = keyCost(row) + keyCost(qualifier);
  if (cost <= limits.keyBytes) return;
  throw new InvalidKeyError(
    `${typeof where === "string" ? where : where()}: row key and qualifier together take ${cost} bytes, at most ${limits.keyBytes} are allowed (NUL bytes counted twice); use a hash of the long part`,
  );
}

function badRow(table: TableDefinition, row: string, error: unknown): unknown {
  if (!hasCode(error, "INVALID_KEY")) return error;
  return new InvalidKeyError(`Table ${table.name}, row ${row}: ${error.message}`, { cause: error.cause });
}

/** Adds the column and the row to an error of a codec. Returns any other error unchanged. */
export function valueErrorAt(column: Column<unknown, unknown>, row: unknown, error: unknown): unknown {
  const where = () => `${describeColumn(column)}, row ${describeRow(row)}`;
  if (hasCode(error, "NEWER_VALUE")) {
    const { version, known } = error as NewerValueDetails;
    return new NewerValueError(`${where()}: ${error.message}`, { version, known });
  }
  if (!hasCode(error, "INVALID_VALUE")) return error;
  return new InvalidValueError(`${where()}: ${error.message}`, { cause: error.cause });
}

// Compares the code instead of the class, since the codec may come from another copy of the
// package.
function hasCode(error: unknown, code: ErrorCode): error is PercolatorError {
  return error instanceof Error && (error as Partial<PercolatorError>).code === code;
}
