import { types } from "node:util";
import { InvalidValueError } from "../../errors/index.js";
import {
  type Codec,
  type Column,
  describeColumn,
  formatValue,
  inflated,
  isColumn,
  isCompressedTag,
  isFamily,
  type Json,
  parsePath,
  plainCodec,
  storedVersion,
  type TableDefinition,
  type UntypedTable,
  valueFromJson,
  valueTag,
} from "../../schema/index.js";
import type { CellLine } from "./format.js";

/** Converts a cell to its form in an export. */
export function cellToLine(table: TableDefinition, path: Uint8Array, value: Uint8Array): CellLine {
  const { name, qualifier } = parsePath(path);
  const codec = table.columns.get(name)?.codec;
  const version = codec === undefined ? 1 : storedVersion(codec.tag, value);
  const readable = codec === undefined ? undefined : toJson(codec, value, version);
  if (readable === undefined) return { column: name, qualifier, raw: base64(value) };
  if (version !== undefined && version > 1) return { column: name, qualifier, version, value: readable };
  return qualifier === undefined ? [name, readable] : [name, qualifier, readable];
}

/** A cell to write. Its column belongs to a table whose values are bytes. */
export interface DumpedCell {
  readonly column: Column<unknown, unknown>;
  readonly value: Uint8Array;
}

/**
 * Converts a line's entry to a cell. `typed` has the columns' codecs. Throws if the entry does not
 * fit the table.
 */
export function cellFromLine(table: UntypedTable, typed: TableDefinition, line: CellLine): DumpedCell {
  const { name, qualifier, json, version, raw } = partsOf(line);
  const bound = Object.hasOwn(table, name) ? table[name] : undefined;
  const column =
    qualifier === undefined
      ? isColumn(bound) && bound
      : isFamily(bound) && (bound.at(qualifier) as Column<unknown, unknown>);
  if (!column) {
    throw new InvalidValueError(
      `${describeColumn({ table: typed, name, qualifier })} is not a column in the header`,
    );
  }
  const value =
    raw === undefined
      ? fromJson(typed.columns.get(name)!.codec!, json, version)
      : (valueFromJson("bytes", raw) as Uint8Array);
  return { column, value };
}

/** The parts of a cell in an export. */
interface LineParts {
  readonly name: string;
  readonly qualifier?: string | undefined;
  readonly json?: Json | undefined;
  readonly version?: number | undefined;
  readonly raw?: string | undefined;
}

/** Splits a cell of an export into its parts. Throws if the line's entry is not a cell. */
export function partsOf(line: CellLine): LineParts {
  if (isList(line)) {
    const [name, second, third] = line;
    if (typeof name === "string" && line.length === 2) return { name, json: second };
    if (typeof name === "string" && line.length === 3 && typeof second === "string") {
      return { name, qualifier: second, json: third };
    }
  } else if (typeof line === "object" && typeof line?.column === "string") {
    const { column: name, qualifier } = line;
    if ("raw" in line && typeof line.raw === "string") return { name, qualifier, raw: line.raw };
    if ("version" in line && Number.isSafeInteger(line.version)) {
      return { name, qualifier, json: line.value, version: line.version };
    }
  }
  throw new InvalidValueError(
    "it is not a cell. A cell is [column, value], [family, qualifier, value], {column, version, value} or {column, raw}",
  );
}

function isList(line: CellLine): line is Extract<CellLine, readonly Json[]> {
  return Array.isArray(line);
}

/**
 * Returns the value as JSON. Returns undefined if the codec would not encode that JSON to the same
 * bytes. In that case, the export holds the bytes.
 */
function toJson({ tag }: Codec<unknown>, stored: Uint8Array, version: number | undefined): Json | undefined {
  try {
    // Two versions of Node may compress a value to different bytes, so only the value counts.
    const bytes = isCompressedTag(tag) ? inflated(stored) : stored;
    const codec = plainCodec(valueTag(tag), version);
    if (codec.tag === "bytes") return base64(bytes);
    const value = codec.decode(bytes);
    if (Buffer.compare(codec.encode(value), bytes) !== 0) return undefined;
    return isJson(value) ? value : formatValue(codec, value);
  } catch {
    return undefined;
  }
}

/** Whether JSON can represent a decoded value. If not, the export uses the codec's text. */
function isJson(value: unknown): value is Json {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value !== "bigint" && !types.isDate(value);
}

function fromJson({ tag }: Codec<unknown>, json: Json | undefined, version?: number): Uint8Array {
  const codec = plainCodec(tag, version);
  return codec.encode(valueFromJson(codec, json));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
