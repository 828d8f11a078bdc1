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

/** A column, family or signal with another name in the database, for `table`. */
export interface StoredDeclaration<D> {
  readonly kind: "stored";
  readonly name: string;
  readonly declaration: D;
}

type NamedDeclaration = Codec<unknown> | FamilyDeclaration<unknown> | SignalDeclaration;

/**
 * What a table declares under a name: a codec for a column, `family(codec)` for a family, or
 * `signal()` for a signal. `storedAs(name, declaration)` gives it another name in the database.
 */
export type ColumnDeclaration = NamedDeclaration | StoredDeclaration<NamedDeclaration>;

/** A table's columns by name. */
export type ColumnDeclarations = Readonly<Record<string, ColumnDeclaration>>;

/** The options of {@link table}, besides its columns. `C` is the type of their declaration. */
export interface TableOptions<K, C extends ColumnDeclarations = ColumnDeclarations> {
  /** The row keys. Default: strings, ordered by their UTF-8 bytes. Composite keys: `tuple`. */
  readonly key?: KeyCodec<K> | undefined;
  /**
   * The recipe that writes this table together with the column whose values determine its rows.
   * Examples are a unique constraint and an exact index. The database records that column. Commands
   * without the program's module write neither that column nor this table. Default: none.
   */
  readonly writtenWith?: TableWriter | undefined;
  /**
   * Version of the unique constraint or index that keeps the table: a whole number from 1. The database
   * records the highest one, and `db.schema` says whether the rows must be rebuilt. Default: 1.
   */
  readonly version?: number | undefined;
  /**
   * Milliseconds from the commit of a cell until it expires, for all columns and families, or for
   * some of them by name: `{ token: 3_600_000 }`. A later write of the cell begins the time again.
   *
   * An expired cell is deleted by a transaction of its own, so observers, feeds and live queries see
   * the delete. The library looks for expired cells in the background (`expireEveryMs` of `open`),
   * and `db.collect()` deletes all of them. Until then, reads return the value.
   *
   * The database records the time. A program that declares none leaves the recorded one.
   * `Number.POSITIVE_INFINITY` says that cells stay. A column with a unique constraint or an exact
   * index takes no time. Default: cells do not expire.
   */
  readonly ttlMs?: number | { readonly [N in keyof C]?: number } | undefined;
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

type BoundTo<D, K> = D extends StoredDeclaration<infer N> ? BoundNamed<N, K> : BoundNamed<D, K>;

type BoundNamed<D, K> =
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
 *
 * The object has no prototype. To compare it strictly, as `deepEqual` of `node:assert/strict` does,
 * copy it: `{ ...row }`.
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
 * const logins = table("logins", { token: text() }, { ttlMs: 3_600_000 }); // tokens expire after an hour
 */
export function table<C extends ColumnDeclarations, K = string>(
  name: string,
  columns: C,
  options: TableOptions<K, C> = {},
): Table<C, K> {
  checkName("table", name);
  checkOptionNames(`table ${name}`, options, { key: true, writtenWith: true, version: true, ttlMs: true });
  const key = options.key ?? textKey;
  if (!isKeyCodec(key)) {
    throw new SchemaError(
      `Table ${name}: the key must be made by tuple(...), not ${describeValue(key)}; leave it out for string keys`,
    );
  }
  const defined = {
    name,
    key,
    columns: withTtl(name, defineColumns(name, columns), options.ttlMs),
    ...definedWriter(name, options.writtenWith),
    ...definedVersion(name, options.version),
  };
  return bindTable(defined) as unknown as Table<C, K>;
}

function definedVersion(tableName: string, version = 1): Pick<TableDefinition, "version"> {
  if (Number.isSafeInteger(version) && version >= 1) return version === 1 ? {} : { version };
  throw new SchemaError(
    `Table ${tableName}: version must be a whole number from 1, not ${describeValue(version)}`,
  );
}

/** The columns with the times after which their cells expire. */
function withTtl(
  tableName: string,
  columns: ReadonlyMap<string, ColumnDefinition>,
  ttlMs: number | Readonly<Record<string, number | undefined>> | undefined,
): ReadonlyMap<string, ColumnDefinition> {
  if (ttlMs === undefined) return columns;
  if (typeof ttlMs === "number") {
    const ofAll = checkTtl(tableName, undefined, ttlMs);
    return mapColumns(columns, (column) => (column.kind === "signal" ? column : { ...column, ttlMs: ofAll }));
  }
  if (typeof ttlMs !== "object" || ttlMs === null) {
    throw new SchemaError(
      `Table ${tableName}: ttlMs must be a number of milliseconds, or an object of them by column, not ${describeValue(ttlMs)}`,
    );
  }
  const byProperty = new Map([...columns.values()].map((column) => [column.property, column]));
  for (const property of Object.keys(ttlMs)) {
    const column = byProperty.get(property);
    if (column !== undefined && column.kind !== "signal") continue;
    const why =
      column === undefined ? "declares no such column" : "declares it as a signal, which has no cells";
    throw new SchemaError(`Table ${tableName}: ttlMs names ${property}, but the table ${why}`);
  }
  return mapColumns(columns, (column) => {
    const given = Object.hasOwn(ttlMs, column.property) ? ttlMs[column.property] : undefined;
    return given === undefined ? column : { ...column, ttlMs: checkTtl(tableName, column.property, given) };
  });
}

function mapColumns(
  columns: ReadonlyMap<string, ColumnDefinition>,
  change: (column: ColumnDefinition) => ColumnDefinition,
): ReadonlyMap<string, ColumnDefinition> {
  return new Map([...columns].map(([name, column]) => [name, change(column)]));
}

/** Returns `null` for a time that never ends. */
function checkTtl(tableName: string, property: string | undefined, ttlMs: unknown): number | null {
  if (ttlMs === Number.POSITIVE_INFINITY) return null;
  if (Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 1) return ttlMs as number;
  const of = property === undefined ? "" : ` of ${property}`;
  throw new SchemaError(
    `Table ${tableName}: ttlMs${of} must be a whole number of milliseconds above 0, or Infinity, not ${describeValue(ttlMs)}`,
  );
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

/**
 * Renames a column, family or signal in the program, and keeps its name in the database. Programs
 * with the old and the new name may run at the same time, because both read and write the same
 * cells. Commands, messages, and the `name` of the column's handle have the database's name.
 *
 * A table needs no such call: rename the constant, and leave the name that `table` takes.
 *
 * @throws SchemaError for an invalid name.
 *
 * @example
 * const orders = table("orders", { amount: storedAs("total", int()) }); // once `total: int()`
 */
export function storedAs<const D extends NamedDeclaration>(
  name: string,
  declaration: D,
): StoredDeclaration<D> {
  checkName("column", name);
  return Object.freeze({ kind: "stored", name, declaration });
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
  for (const { name, property } of defined.columns.values()) bound[property] = bindColumn(defined, name);
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
  for (const [property, declared] of Object.entries(columns)) {
    checkName("column", property);
    const isRenamed = isDeclaration(declared, "stored");
    const name = isRenamed ? declared.name : property;
    const before = defined.get(name);
    if (before !== undefined) {
      throw new SchemaError(
        `Table ${tableName}: ${before.property} and ${property} are both stored as ${name}. Give one of them another stored name`,
      );
    }
    defined.set(
      name,
      defineColumn(tableName, { name, property }, isRenamed ? declared.declaration : declared),
    );
  }
  if (defined.size === 0) throw new SchemaError(`Table ${tableName} has no columns; it needs at least one`);
  return defined;
}

function defineColumn(
  tableName: string,
  names: Pick<ColumnDefinition, "name" | "property">,
  declared: NamedDeclaration,
): ColumnDefinition {
  if (isDeclaration(declared, "signal")) return { ...names, kind: "signal", codec: undefined };
  const kind = isDeclaration(declared, "family") ? "family" : "column";
  const codec = isDeclaration(declared, "family") ? declared.codec : declared;
  if (!isCodecShaped(codec)) {
    throw new SchemaError(
      `Table ${tableName}: column ${names.property} must be a codec such as text(), or family(codec), or signal(), not ${describeValue(codec)}`,
    );
  }
  return { ...names, kind, codec: adoptCodec(codec) };
}

interface Declarations {
  readonly family: FamilyDeclaration<unknown>;
  readonly signal: SignalDeclaration;
  readonly stored: StoredDeclaration<NamedDeclaration>;
}

function isDeclaration<T extends keyof Declarations>(value: unknown, kind: T): value is Declarations[T] {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === kind;
}

function isCodecShaped(value: unknown): value is Codec<unknown> {
  if (typeof value !== "object" || value === null) return false;
  const { encode, decode } = value as Partial<Codec<unknown>>;
  return typeof encode === "function" && typeof decode === "function";
}
