import { checkOptionNames, SchemaError } from "../errors/index.js";
import {
  type AnyColumn,
  bindColumn,
  type Column,
  type Family,
  isColumn,
  type rowKey,
  type Signal,
} from "./column.js";
import { type ColumnDefinition, definition, type TableDefinition, type TableWriter } from "./definition.js";
import { describeValue } from "./describe.js";
import { isKeyCodec, type KeyCodec, textKey } from "./key/key.js";
import { checkName } from "./names.js";
import type { Codec } from "./value/codec.js";
import { adoptCodec } from "./value/custom.js";

/** The declaration of a family, for `table`. */
export interface FamilyDeclaration<V, I = V> {
  readonly kind: "family";
  readonly codec: Codec<V, I>;
}

/** The declaration of a signal, for `table`. */
export interface SignalDeclaration {
  readonly kind: "signal";
}

/**
 * What a table declares under a name: a codec for a column, `family(codec)` for a family, or
 * `signal()` for a signal.
 */
export type ColumnDeclaration = Codec<unknown> | FamilyDeclaration<unknown> | SignalDeclaration;

/** A table's columns by name. */
export type ColumnDeclarations = Readonly<Record<string, ColumnDeclaration>>;

/** The options of {@link table}, besides its columns. */
export interface TableOptions<K> {
  /** The row keys. Default: strings, ordered by their UTF-8 bytes. Composite keys: `tuple`. */
  readonly key?: KeyCodec<K> | undefined;
  /**
   * The recipe that writes this table together with the column whose values determine its rows.
   * Examples are a unique constraint and an exact index. The database records that column. Commands
   * without the program's module write neither that column nor this table. Default: none.
   */
  readonly writtenWith?: TableWriter | undefined;
}

/** A table of any type. */
export interface AnyTable {
  readonly [definition]: TableDefinition;
}

/**
 * A table: its columns, families and signals by name. `C` is the type of its declaration, `K` the
 * type of its row keys.
 */
export type Table<C extends ColumnDeclarations = ColumnDeclarations, K = string> = AnyTable & {
  readonly [rowKey]?: K;
} & { readonly [N in keyof C]: BoundTo<C[N], K> };

type BoundTo<D, K> =
  D extends FamilyDeclaration<infer V, infer I>
    ? Family<V, K, I>
    : D extends SignalDeclaration
      ? Signal<K>
      : D extends Codec<infer V, infer I>
        ? Column<V, K, I>
        : never;

/**
 * A row: a property for each column that holds a value. Each family is a map from qualifier to
 * value, in the qualifiers' order, and empty if it has no cell. Signals have no values and are left
 * out.
 */
export type RowOf<T extends AnyTable> = Flat<
  {
    readonly [N in keyof T as T[N] extends Column<unknown, unknown> ? N : never]?: T[N] extends Column<
      infer V,
      infer _
    >
      ? V
      : never;
  } & {
    readonly [N in keyof T as T[N] extends Family<unknown, unknown> ? N : never]: T[N] extends Family<
      infer V,
      infer _
    >
      ? ReadonlyMap<string, V>
      : never;
  }
>;

type Flat<R> = { [N in keyof R]: R[N] };

/** The type of the row keys of a table, column, family or signal. */
export type KeyOf<T> = T extends { readonly [rowKey]?: infer K } ? K : unknown;

/**
 * Declares a table: a name, and its columns. A codec declares a column, `family(codec)` any number
 * of columns under one name, and `signal()` a column that can only be notified. A name has at most
 * 64 characters: letters, digits, `_` and `-`, with a letter or `_` first.
 *
 * A declaration touches no database. Any number of databases may use it.
 *
 * @throws SchemaError for an invalid name, no columns, or an invalid declaration of a column.
 *
 * @example
 * const documents = table("documents", {
 *   contents: text(),
 *   anchors: family(text()),
 *   rescore: signal(),
 * });
 */
export function table<C extends ColumnDeclarations, K = string>(
  name: string,
  columns: C,
  options: TableOptions<K> = {},
): Table<C, K> {
  checkName("table", name);
  checkOptionNames(`table ${name}`, options, { key: true, writtenWith: true });
  const key = options.key ?? textKey;
  if (!isKeyCodec(key)) {
    throw new SchemaError(
      `Table ${name}: the key must be made by tuple(...), not ${describeValue(key)}; leave it out for string keys`,
    );
  }
  const defined = {
    name,
    key,
    columns: defineColumns(name, columns),
    ...definedWriter(name, options.writtenWith),
  };
  return bindTable(defined) as unknown as Table<C, K>;
}

function definedWriter(
  tableName: string,
  writer: TableWriter | undefined,
): Pick<TableDefinition, "writtenWith" | "writer"> {
  if (writer === undefined) return {};
  if (!isColumn(writer?.column)) {
    throw new SchemaError(
      `Table ${tableName}: writtenWith must be an object with a \`column\`, such as a unique constraint, not ${describeValue(writer)}`,
    );
  }
  const { table: of, name: column, qualifier } = writer.column;
  return {
    writtenWith: { table: of.name, column, ...(qualifier === undefined ? {} : { qualifier }) },
    writer,
  };
}

/**
 * Declares any number of columns of one type under one name. `documents.anchors.at(qualifier)` is
 * one of these columns.
 *
 * @example
 * const documents = table("documents", { anchors: family(text()) });
 * tx.set(documents.anchors.at("https://example.org/"), "/", "Example");
 */
export function family<V, I = V>(codec: Codec<V, I>): FamilyDeclaration<V, I> {
  return Object.freeze({ kind: "family", codec });
}

/**
 * Declares a column that is never written, only notified: the paper's weak notifications (section
 * 2.4).
 *
 * @example
 * const documents = table("documents", { contents: text(), rescore: signal() });
 * tx.notify(documents.rescore, "/");
 */
export function signal(): SignalDeclaration {
  return Object.freeze({ kind: "signal" });
}

/** Whether this is a table. */
export function isTable(value: unknown): value is AnyTable {
  return typeof value === "object" && value !== null && definition in value;
}

/** A table's columns, families and signals, in the order of the declaration. */
export function tableColumns(table: AnyTable): readonly AnyColumn[] {
  return Object.values(table as unknown as Record<string, AnyColumn>);
}

/** The table handle of a definition. */
export function bindTable(defined: TableDefinition): AnyTable {
  const bound: Record<PropertyKey, unknown> = Object.create(null);
  Object.defineProperty(bound, definition, { value: Object.freeze(defined) });
  for (const name of defined.columns.keys()) bound[name] = bindColumn(defined, name);
  return Object.freeze(bound) as unknown as AnyTable;
}

function defineColumns(
  tableName: string,
  columns: ColumnDeclarations,
): ReadonlyMap<string, ColumnDefinition> {
  if (typeof columns !== "object" || columns === null || Array.isArray(columns)) {
    throw new SchemaError(
      `Table ${tableName}: the columns must be an object of codecs by name, not ${describeValue(columns)}`,
    );
  }
  const defined = new Map<string, ColumnDefinition>();
  for (const [name, declared] of Object.entries(columns)) {
    checkName("column", name);
    defined.set(name, defineColumn(tableName, name, declared));
  }
  if (defined.size === 0) throw new SchemaError(`Table ${tableName} has no columns; it needs at least one`);
  return defined;
}

function defineColumn(tableName: string, name: string, declared: ColumnDeclaration): ColumnDefinition {
  if (isDeclaration(declared, "signal")) return { name, kind: "signal", codec: undefined };
  const kind = isDeclaration(declared, "family") ? "family" : "column";
  const codec = isDeclaration(declared, "family") ? declared.codec : declared;
  if (!isCodecShaped(codec)) {
    throw new SchemaError(
      `Table ${tableName}: column ${name} must be a codec such as text(), or family(codec), or signal(), not ${describeValue(codec)}`,
    );
  }
  return { name, kind, codec: adoptCodec(codec) };
}

function isDeclaration<T extends "family" | "signal">(
  value: unknown,
  kind: T,
): value is T extends "family" ? FamilyDeclaration<unknown> : SignalDeclaration {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === kind;
}

function isCodecShaped(value: unknown): value is Codec<unknown> {
  if (typeof value !== "object" || value === null) return false;
  const { encode, decode } = value as Partial<Codec<unknown>>;
  return typeof encode === "function" && typeof decode === "function";
}
