import { SchemaError } from "../errors/index.js";
import { bigint } from "./bigint.js";
import { buildCodec, type Codec } from "./codec.js";
import type { AnyColumn } from "./column.js";
import { date } from "./date.js";
import { type ColumnDefinition, type ColumnKind, definition, type TableDefinition } from "./definition.js";
import { json } from "./json.js";
import { type KeyCodec, textKey } from "./key.js";
import { checkName } from "./names.js";
import { boolean, bytes, copyBytes, float, int, text } from "./scalars.js";
import { type AnyTable, bindTable } from "./table.js";
import { tupleFromTag } from "./tuple.js";

/** What the database records of a column. Plain JSON. */
export interface ColumnDescription {
  readonly name: string;
  readonly kind: ColumnKind;
  /** The codec's tag; `null` for a signal. */
  readonly codec: string | null;
}

/** What the database records of a table. Plain JSON. */
export interface TableDescription {
  readonly name: string;
  /** The tag of the row keys' codec. */
  readonly key: string;
  readonly columns: readonly ColumnDescription[];
}

/** How a declaration differs from what is recorded. */
export interface TableComparison {
  /** Columns to be recorded anew, by name. */
  readonly additions: readonly string[];
  /** What cannot be: a sentence each. */
  readonly clashes: readonly string[];
}

/** A table that came from its description: columns by name, their types unknown. */
export type UntypedTable = AnyTable & { readonly [name: string]: AnyColumn };

/** What is to be recorded of a table. */
export function describeTable(table: TableDefinition): TableDescription {
  const columns = [...table.columns.values()].map(({ name, kind, codec }) => ({
    name,
    kind,
    codec: codec?.tag ?? null,
  }));
  return { name: table.name, key: table.key.tag, columns };
}

/**
 * The table that a description records, for commands that are not given a module. Values of a custom codec, which only
 * the module knows, are read as bytes, and cannot be written.
 *
 * @throws SchemaError for a description that this version of the package cannot read.
 */
export function tableFromDescription(description: TableDescription): UntypedTable {
  const { name, key } = description;
  checkName("table", name);
  if (!Array.isArray(description.columns) || description.columns.length === 0) {
    throw new SchemaError(`Table ${name} is recorded without columns; the record is damaged`);
  }
  const columns = new Map<string, ColumnDefinition>();
  for (const column of description.columns) {
    checkName("column", column.name);
    if (columns.has(column.name)) {
      throw new SchemaError(`Table ${name} is recorded with two columns named ${column.name}`);
    }
    columns.set(column.name, defineFromDescription(name, column));
  }
  return bindTable({ name, key: keyFromTag(name, key), columns }) as UntypedTable;
}

/**
 * Compares what is recorded of a table with what is declared. A new column is an addition. Another key, or another
 * kind or codec of a column, is a clash. A recorded column that is not declared is neither: other programs may use it.
 */
export function compareTables(recorded: TableDescription, declared: TableDescription): TableComparison {
  const additions: string[] = [];
  const clashes: string[] = [];
  if (recorded.name !== declared.name) {
    clashes.push(`table ${recorded.name} is recorded, table ${declared.name} declared`);
  }
  if (recorded.key !== declared.key) {
    clashes.push(
      `row keys of table ${declared.name} are recorded as ${recorded.key}, but declared as ${declared.key}`,
    );
  }
  const known = new Map(recorded.columns.map((column) => [column.name, column]));
  for (const column of declared.columns) {
    const before = known.get(column.name);
    if (before === undefined) additions.push(column.name);
    else if (before.kind !== column.kind || before.codec !== column.codec) {
      clashes.push(
        `column ${declared.name}.${column.name} is recorded as ${inWords(before)}, but declared as ${inWords(column)}`,
      );
    }
  }
  return { additions, clashes };
}

/**
 * The table that a description records, every value as the bytes that the store holds, custom codecs' too: for what carries
 * values from one database to another. Whoever writes bytes that the column's codec cannot read damages the column.
 *
 * @throws SchemaError for a description that this version of the package cannot read.
 */
export function bytesTable(description: TableDescription): UntypedTable {
  const { name, key, columns } = tableFromDescription(description)[definition];
  const asBytes = [...columns.values()].map(
    (column) => [column.name, { ...column, codec: column.codec && storedBytes(column.codec.tag) }] as const,
  );
  return bindTable({ name, key, columns: new Map(asBytes) }) as UntypedTable;
}

function storedBytes(tag: string): Codec<unknown> {
  const encode = (value: unknown) => bytes().encode(value as Uint8Array);
  return buildCodec<unknown, string>(tag, encode, (buffer, start, end) =>
    copyBytes(buffer.subarray(start, end)),
  );
}

function defineFromDescription(table: string, { name, kind, codec }: ColumnDescription): ColumnDefinition {
  if (kind === "signal") return { name, kind, codec: undefined };
  if ((kind !== "column" && kind !== "family") || typeof codec !== "string") {
    throw new SchemaError(
      `Column ${table}.${name} is recorded as ${String(kind)} of ${String(codec)}, which this version of the package does not know; upgrade it`,
    );
  }
  return { name, kind, codec: codecFromTag(codec) ?? unknownCodec(`${table}.${name}`, codec) };
}

function keyFromTag(table: string, tag: string): KeyCodec<unknown> {
  const key = tag === textKey.tag ? textKey : tupleFromTag(tag);
  if (key === undefined) {
    throw new SchemaError(
      `Table ${table} has row keys of ${tag}, which this version of the package does not know; upgrade it`,
    );
  }
  return key;
}

/** The built-in codec of a tag; `undefined` for a custom codec. */
export function codecFromTag(tag: string): Codec<unknown> | undefined {
  return builtIn.get(tag);
}

const builtIn: ReadonlyMap<string, Codec<unknown>> = new Map<string, Codec<unknown>>(
  [text(), bytes(), int(), float(), boolean(), date(), bigint(), json<unknown>()].map((codec) => [
    codec.tag,
    codec as Codec<unknown>,
  ]),
);

function unknownCodec(column: string, tag: string): Codec<unknown> {
  return buildCodec<unknown, string>(
    tag,
    () => {
      throw new SchemaError(
        `Column ${column} has a codec of its own (${tag}), which only the module that declares the table knows; give that module to write it`,
      );
    },
    // What is one of some strings is a string, whichever they are.
    tag === "oneOf" ? text().decodeRange! : (buffer, start, end) => copyBytes(buffer.subarray(start, end)),
  );
}

function inWords({ kind, codec }: ColumnDescription): string {
  return codec === null ? kind : `${kind} of ${codec}`;
}
