import { SchemaError } from "../errors/index.js";
import type { AnyColumn } from "./column.js";
import {
  type ColumnDefinition,
  type ColumnKind,
  type ColumnName,
  definition,
  type TableDefinition,
} from "./definition.js";
import { type KeyCodec, textKey } from "./key/key.js";
import { tupleFromTag } from "./key/tuple.js";
import { checkName } from "./names.js";
import { type AnyTable, bindTable } from "./table.js";
import { bigint } from "./value/bigint.js";
import { buildCodec, type Codec } from "./value/codec.js";
import { compressed, inflated, isCompressedTag, mayBecome, valueTag } from "./value/compressed.js";
import { date } from "./value/date.js";
import { jsonOfAnyVersion, jsonOfVersion } from "./value/json.js";
import { readVersion } from "./value/json-version.js";
import { boolean, bytes, copyBytes, float, int, text } from "./value/scalars.js";

/** What the database records about a column. Plain JSON. */
export interface ColumnDescription {
  readonly name: string;
  readonly kind: ColumnKind;
  /** The codec's tag; `null` for a signal. */
  readonly codec: string | null;
  /**
   * Whether the program that declares the column checks its values with a schema. Missing if it
   * does not, or if this is not known.
   */
  readonly schema?: true | undefined;
  /**
   * The highest version in which a program has declared to write the column's values. Missing if it
   * is 1.
   */
  readonly version?: number | undefined;
  /**
   * Milliseconds from the commit of a cell until it expires. `null`: a program has declared that
   * cells never expire. Missing if no program has declared a time.
   */
  readonly ttlMs?: number | null | undefined;
}

/** What the database records about a table. Plain JSON. */
export interface TableDescription {
  readonly name: string;
  /** The tag of the row keys' codec. */
  readonly key: string;
  readonly columns: readonly ColumnDescription[];
  /**
   * The column whose values determine this table's rows. The same transactions write that column
   * and this table. Missing if no such column is known.
   */
  readonly writtenWith?: ColumnName | undefined;
  /**
   * The highest version in which a program has declared the unique constraint or index that keeps
   * the table. Missing if it is 1.
   */
  readonly version?: number | undefined;
  /** The version in which the table was first recorded. Missing if it is 1. */
  readonly firstVersion?: number | undefined;
}

/** How a declaration differs from the record. */
export interface TableComparison {
  /** Names of columns that the record does not have yet. */
  readonly additions: readonly string[];
  /**
   * Whether the declaration has a mark that the record lacks. The marks are `schema` of a column,
   * its compression, a higher `version` of its values, another `ttlMs`, and `writtenWith` and a
   * higher `version` of a table.
   */
  readonly hasNewMarks: boolean;
  /** Contradictions between declaration and record, one sentence each. */
  readonly clashes: readonly string[];
}

/** A table made from its description: columns by name, of unknown types. */
export type UntypedTable = AnyTable & { readonly [name: string]: AnyColumn };

/** What the database records about this table. */
export function describeTable(table: TableDefinition): TableDescription {
  const columns = [...table.columns.values()].map(({ name, kind, codec, ttlMs }) => ({
    name,
    kind,
    codec: codec?.tag ?? null,
    ...(codec?.hasSchema === true ? { schema: true as const } : {}),
    ...versionMark(codec?.versions?.written),
    ...ttlMark(ttlMs),
  }));
  const { name, key, writtenWith, version = 1, firstVersion = version } = table;
  return {
    name,
    key: key.tag,
    columns,
    ...(writtenWith === undefined ? {} : { writtenWith }),
    ...versionMark(version),
    ...(firstVersion === 1 ? {} : { firstVersion }),
  };
}

/**
 * The table that a description records, for commands without the program's module. Such a command
 * reads values of a custom codec as bytes, and cannot write them. It cannot write a column with a
 * schema or with versions either. It reads each value in the version in which it is stored.
 *
 * @throws SchemaError if this version of the package cannot read the description.
 */
export function tableFromDescription(description: TableDescription): UntypedTable {
  const { name, key, writtenWith, version, firstVersion = 1 } = description;
  checkName("table", name);
  if (!Array.isArray(description.columns) || description.columns.length === 0) {
    throw new SchemaError(
      `Table ${name} is recorded without columns, so the record is damaged. Run \`percolator check\``,
    );
  }
  const columns = new Map<string, ColumnDefinition>();
  for (const column of description.columns) {
    checkName("column", column.name);
    if (columns.has(column.name)) {
      throw new SchemaError(
        `Table ${name} is recorded with two columns named ${column.name}, so the record is damaged. Run \`percolator check\``,
      );
    }
    columns.set(column.name, defineFromDescription(name, column));
  }
  const marks = { writtenWith, version, firstVersion };
  return bindTable({ name, key: keyFromTag(name, key), columns, ...marks }) as UntypedTable;
}

/**
 * Compares the record of a table with its declaration.
 *
 * - A new column is an addition.
 * - Another key, or another kind or codec of a column, is a clash. But a recorded column may become
 *   compressed, if no stored value can be taken for a compressed one.
 * - A recorded column that is not declared is neither, since other programs may use it.
 * - A mark that is missing on one side is no clash, since earlier versions of the program or the
 *   package do not know it. A recorded mark stays. Of two different `ttlMs`, the declared one is
 *   recorded.
 */
export function compareTables(recorded: TableDescription, declared: TableDescription): TableComparison {
  const additions: string[] = [];
  const clashes: string[] = [];
  if (recorded.name !== declared.name) {
    clashes.push(`table ${recorded.name} is recorded, but table ${declared.name} declared`);
  }
  if (recorded.key !== declared.key) {
    clashes.push(
      `row keys of table ${declared.name} are recorded as ${recorded.key}, but declared as ${declared.key}`,
    );
  }
  let hasNewMarks = recorded.writtenWith === undefined && declared.writtenWith !== undefined;
  if (
    !hasNewMarks &&
    declared.writtenWith !== undefined &&
    !isSameColumn(recorded.writtenWith!, declared.writtenWith)
  ) {
    clashes.push(
      `table ${declared.name} is recorded as written with column ${nameInWords(recorded.writtenWith!)}, but declared as written with ` +
        `column ${nameInWords(declared.writtenWith)}`,
    );
  }
  hasNewMarks ||= (declared.version ?? 1) > (recorded.version ?? 1);
  const known = new Map(recorded.columns.map((column) => [column.name, column]));
  for (const column of declared.columns) {
    const before = known.get(column.name);
    if (before === undefined) additions.push(column.name);
    else if (!mayReplace(before, column)) {
      const difference = `recorded as ${inWords(before)}, but declared as ${inWords(column)}`;
      clashes.push(`column ${declared.name}.${column.name} is ${difference}${adviceFor(before, column)}`);
    } else {
      hasNewMarks ||= before.codec !== column.codec || (column.schema === true && before.schema !== true);
      hasNewMarks ||= (column.version ?? 1) > (before.version ?? 1);
      hasNewMarks ||= column.ttlMs !== undefined && column.ttlMs !== (before.ttlMs ?? null);
    }
  }
  return { additions, clashes, hasNewMarks };
}

/** The record of a table with the additions of its declaration. The two must not clash. */
export function mergeTables(recorded: TableDescription, declared: TableDescription): TableDescription {
  const { additions } = compareTables(recorded, declared);
  const known = new Map(declared.columns.map((column) => [column.name, column]));
  const marked = recorded.columns.map((column) => {
    const { schema, codec, version = 1, ttlMs } = known.get(column.name) ?? column;
    const newest = versionMark(Math.max(version, column.version ?? 1));
    const schemaMark = schema === true ? { schema: true as const } : {};
    return { ...column, codec, ...schemaMark, ...newest, ...ttlMark(ttlMs) };
  });
  const writtenWith = recorded.writtenWith ?? declared.writtenWith;
  return {
    ...recorded,
    columns: [...marked, ...additions.map((name) => known.get(name)!)],
    ...(writtenWith === undefined ? {} : { writtenWith }),
    ...versionMark(Math.max(recorded.version ?? 1, declared.version ?? 1)),
  };
}

function versionMark(version = 1): { readonly version?: number } {
  return version === 1 ? {} : { version };
}

function ttlMark(ttlMs: number | null | undefined): Pick<ColumnDescription, "ttlMs"> {
  return ttlMs === undefined ? {} : { ttlMs };
}

/** Whether a column that is recorded in one way may be declared in the other. */
export function mayReplace(recorded: ColumnDescription, { kind, codec }: ColumnDescription): boolean {
  if (recorded.kind !== kind) return false;
  if (recorded.codec === codec) return true;
  return recorded.codec !== null && codec !== null && mayBecome(recorded.codec, codec);
}

/** What to do about a column whose compression was added or left out, as the end of a sentence. */
function adviceFor({ codec: before }: ColumnDescription, { codec: now }: ColumnDescription): string {
  if (before === null || now === null || valueTag(before) !== valueTag(now)) return "";
  return isCompressedTag(before)
    ? " (a compressed column stays compressed: declare it with compressed())"
    : ` (a value of ${before} could be taken for a compressed one: declare a new column, and copy the values)`;
}

/** Whether two names mean the same column. */
export function isSameColumn(one: ColumnName, other: ColumnName): boolean {
  return one.table === other.table && one.column === other.column && one.qualifier === other.qualifier;
}

function nameInWords({ table, column, qualifier }: ColumnName): string {
  return `${table}.${column}${qualifier === undefined ? "" : `:${qualifier}`}`;
}

/**
 * The table that a description records, with every value as its stored bytes, even those of custom
 * codecs. Export and import use it. The caller must not write bytes that the column's codec cannot
 * read.
 *
 * @throws SchemaError if this version of the package cannot read the description.
 */
export function bytesTable(description: TableDescription): UntypedTable {
  const defined = tableFromDescription(description)[definition];
  const asBytes = [...defined.columns.values()].map(
    (column) => [column.name, { ...column, codec: column.codec && storedBytes(column.codec) }] as const,
  );
  return bindTable({ ...defined, columns: new Map(asBytes) }) as UntypedTable;
}

function storedBytes({ tag, hasSchema, versions }: Codec<unknown>): Codec<unknown> {
  const encode = (value: unknown) => bytes().encode(value as Uint8Array);
  const decode = (buffer: Buffer, start: number, end: number) => copyBytes(buffer.subarray(start, end));
  return buildCodec<unknown, string>(tag, encode, decode, { hasSchema, versions });
}

function defineFromDescription(
  table: string,
  { name, kind, codec, schema, version, ttlMs }: ColumnDescription,
): ColumnDefinition {
  const names = { name, property: name, ...ttlMark(ttlMs) };
  if (kind === "signal") return { ...names, kind, codec: undefined };
  if ((kind !== "column" && kind !== "family") || typeof codec !== "string") {
    throw new SchemaError(
      `Column ${table}.${name} is recorded as ${String(kind)} of ${String(codec)}, which this version of the package does not know. Upgrade the package`,
    );
  }
  const builtIn = codecFromTag(codec);
  if (builtIn === undefined || schema === true || version !== undefined) {
    const traits = { hasSchema: builtIn !== undefined && schema === true, version };
    return { ...names, kind, codec: unwritableCodec(`${table}.${name}`, codec, builtIn, traits) };
  }
  return { ...names, kind, codec: builtIn };
}

function keyFromTag(table: string, tag: string): KeyCodec<unknown> {
  const key = tag === textKey.tag ? textKey : tupleFromTag(tag);
  if (key === undefined) {
    throw new SchemaError(
      `Table ${table} has row keys of ${tag}, which this version of the package does not know. Upgrade the package`,
    );
  }
  return key;
}

/** The built-in codec of a tag. Undefined for a custom codec. */
export function codecFromTag(tag: string): Codec<unknown> | undefined {
  const codec = builtIn.get(valueTag(tag));
  return codec === undefined || !isCompressedTag(tag) ? codec : compressed(codec);
}

const builtIn: ReadonlyMap<string, Codec<unknown>> = new Map<string, Codec<unknown>>(
  [text(), bytes(), int(), float(), boolean(), date(), bigint(), jsonOfAnyVersion].map((codec) => [
    codec.tag,
    codec as Codec<unknown>,
  ]),
);

/**
 * The codec with which a command without the module writes values of a tag. It does not check a
 * schema or the choices of a `oneOf`. Values of a custom codec are bytes. JSON is written in
 * `version`, and read in the version in which it is stored.
 */
export function plainCodec(tag: string, version = 1): Codec<unknown> {
  const value = valueTag(tag);
  // Every choice of a `oneOf` is a string.
  const known = builtIn.get(value === "oneOf" ? "text" : value) ?? (bytes() as Codec<unknown>);
  const codec = known === jsonOfAnyVersion && version > 1 ? jsonOfVersion(version) : known;
  return isCompressedTag(tag) ? compressed(codec) : codec;
}

/**
 * The version of a column's stored value: 1 if the codec has no versions. Undefined if the bytes
 * cannot be read.
 */
export function storedVersion(tag: string, stored: Uint8Array): number | undefined {
  if (valueTag(tag) !== "json") return 1;
  try {
    const bytes = isCompressedTag(tag) ? inflated(stored) : stored;
    return readVersion(bytes, 0, bytes.length)?.version;
  } catch {
    return undefined;
  }
}

/**
 * A codec for a column that only the module can write. To read values, it uses the built-in codec
 * behind a schema or versions, `text` for a `oneOf`, and `bytes` for a custom codec.
 */
function unwritableCodec(
  column: string,
  tag: string,
  builtIn: Codec<unknown> | undefined,
  { hasSchema, version }: { readonly hasSchema: boolean; readonly version: number | undefined },
): Codec<unknown> {
  const custom = builtIn === undefined ? `a custom codec (${valueTag(tag)})` : undefined;
  const has = custom ?? (hasSchema ? "a schema" : `values of version ${version}`);
  const refuseWrite = () => {
    throw new SchemaError(
      `Column ${column} has ${has}, which only the module that declares the table knows. To write the column, give that module`,
    );
  };
  const { decodeRange } = plainCodec(tag);
  const versions = version === undefined ? undefined : { newest: version, written: version };
  return buildCodec<unknown, string>(tag, refuseWrite, decodeRange!, { hasSchema, versions });
}

function inWords({ kind, codec }: ColumnDescription): string {
  return codec === null ? kind : `${kind} of ${codec}`;
}
