import { InvalidKeyError } from "../errors/index.js";
import type { TableDefinition } from "./definition.js";
import { describeValue } from "./describe.js";
import { columnPath } from "./key/path.js";
import type { Codec } from "./value/codec.js";

/** Carries the type of a table's row keys. It has no value at run time. */
export declare const rowKey: unique symbol;

/**
 * A column of a table, or one cell of a family. Transactions read and write it. `V` is the type of
 * its values, `K` the type of the row keys. `I` is the type of written values, which is wider than
 * `V` if a schema fills in defaults.
 */
export interface Column<V, K = string, I = NoInfer<V>> {
  readonly kind: "column";
  readonly table: TableDefinition;
  /** The column's name, or the family's. */
  readonly name: string;
  /** The qualifier of a family's cell. Undefined for a simple column. */
  readonly qualifier: string | undefined;
  /** The column's name in the store: see `columnPath`. */
  readonly path: Uint8Array;
  readonly codec: Codec<V, I>;
  readonly [rowKey]?: K;
}

/** Any number of columns of one type under one name. Each has a qualifier. */
export interface Family<V, K = string, I = NoInfer<V>> {
  readonly kind: "family";
  readonly table: TableDefinition;
  readonly name: string;
  readonly codec: Codec<V, I>;
  /**
   * The column with this qualifier: any well-formed string, including the empty one.
   *
   * @throws InvalidKeyError if the qualifier is not a string, has a lone surrogate, or is too long.
   */
  at(qualifier: string): Column<V, K, I>;
  readonly [rowKey]?: K;
}

/**
 * A column that is never written, only notified. Its observers run at least once after each
 * notification.
 */
export interface Signal<K = string> {
  readonly kind: "signal";
  readonly table: TableDefinition;
  readonly name: string;
  readonly path: Uint8Array;
  readonly [rowKey]?: K;
}

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
const brand = Symbol.for("percolatordb.column");

class BoundColumn implements Column<unknown, unknown> {
  readonly kind = "column";
  readonly table: TableDefinition;
  readonly name: string;
  readonly qualifier: string | undefined;
  readonly path: Uint8Array;
  readonly codec: Codec<unknown>;

  constructor(table: TableDefinition, name: string, qualifier: string | undefined, codec: Codec<unknown>) {
    this.table = table;
    this.name = name;
    this.qualifier = qualifier;
    this.path = columnPath(name, qualifier);
    this.codec = codec;
  }

  get [brand](): true {
    return true;
  }
}

class BoundFamily implements Family<unknown, unknown> {
  readonly kind = "family";
  readonly table: TableDefinition;
  readonly name: string;
  readonly codec: Codec<unknown>;

  constructor(table: TableDefinition, name: string, codec: Codec<unknown>) {
    this.table = table;
    this.name = name;
    this.codec = codec;
  }

  get [brand](): true {
    return true;
  }

  at(qualifier: string): Column<unknown, unknown> {
    try {
      checkQualifier(qualifier);
      return new BoundColumn(this.table, this.name, qualifier, this.codec);
    } catch (error) {
      if (!(error instanceof InvalidKeyError)) throw error;
      throw new InvalidKeyError(`${this.table.name}.${this.name}: bad qualifier: ${error.message}`, {
        cause: error,
      });
    }
  }
}

function checkQualifier(qualifier: unknown): void {
  if (typeof qualifier !== "string") {
    throw new InvalidKeyError(`the qualifier must be a string, not ${describeValue(qualifier)}`);
  }
}

class BoundSignal implements Signal<unknown> {
  readonly kind = "signal";
  readonly table: TableDefinition;
  readonly name: string;
  readonly path: Uint8Array;

  constructor(table: TableDefinition, name: string) {
    this.table = table;
    this.name = name;
    this.path = columnPath(name);
  }

  get [brand](): true {
    return true;
  }
}

/** A table's column, family or signal, of unknown types. */
export type AnyColumn = Column<unknown, unknown> | Family<unknown, unknown> | Signal<unknown>;

/** The handle of the column `name`. Undefined if `definition` does not declare it. */
export function bindColumn(definition: TableDefinition, name: string): AnyColumn | undefined {
  const declared = definition.columns.get(name);
  if (declared === undefined) return undefined;
  if (declared.kind === "signal") return Object.freeze(new BoundSignal(definition, name));
  const codec = declared.codec!;
  return declared.kind === "family"
    ? Object.freeze(new BoundFamily(definition, name, codec))
    : Object.freeze(new BoundColumn(definition, name, undefined, codec));
}

/** Whether this is a column of a table, or a cell of a family. */
export function isColumn(value: unknown): value is Column<unknown, unknown> {
  return isBound(value) && value.kind === "column";
}

/** Whether this is a family of a table. */
export function isFamily(value: unknown): value is Family<unknown, unknown> {
  return isBound(value) && value.kind === "family";
}

/** Whether this is a signal of a table. */
export function isSignal(value: unknown): value is Signal<unknown> {
  return isBound(value) && value.kind === "signal";
}

function isBound(value: unknown): value is AnyColumn {
  return typeof value === "object" && value !== null && brand in value;
}
