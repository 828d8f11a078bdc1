import type { KeyCodec } from "./key/key.js";
import type { Codec } from "./value/codec.js";

/**
 * The property of a table that holds its {@link TableDefinition}. It is a symbol, so columns may
 * have any name.
 */
export const definition: unique symbol = Symbol.for("percolatordb.table");

export type ColumnKind = "column" | "family" | "signal";

/** The declaration of one column. */
export interface ColumnDefinition {
  /** The column's name in the database. */
  readonly name: string;
  /** The column's name in the program. It differs from `name` only with `storedAs`. */
  readonly property: string;
  readonly kind: ColumnKind;
  /** Undefined for a signal, and only for a signal. */
  readonly codec: Codec<unknown> | undefined;
  /**
   * Milliseconds from the commit of a cell until it expires: see `ttlMs` of `table`. `null`: the
   * declaration says that cells never expire. Undefined: it says nothing.
   */
  readonly ttlMs?: number | null | undefined;
}

/** The name of a column, as the database records it. Plain JSON. */
export interface ColumnName {
  readonly table: string;
  /** The column's name, or the family's. */
  readonly column: string;
  /** The qualifier, for a cell of a family. */
  readonly qualifier?: string | undefined;
}

/** The declaration of a table. */
export interface TableDefinition {
  readonly name: string;
  readonly key: KeyCodec<unknown>;
  /** By their names in the database, in the order of the declaration. Never empty. */
  readonly columns: ReadonlyMap<string, ColumnDefinition>;
  /**
   * The column whose values determine this table's rows. The same transactions write that column
   * and this table.
   */
  readonly writtenWith?: ColumnName | undefined;
  /**
   * The recipe that writes the column and the table. Undefined if the definition comes from the
   * database's record.
   */
  readonly writer?: TableWriter | undefined;
  /** Version of the unique constraint or index that keeps the table. Undefined if it is 1. */
  readonly version?: number | undefined;
  /** The version in which the database first recorded the table. Undefined if it is 1, or not known. */
  readonly firstVersion?: number | undefined;
  /** Where the rows come from. Programs then cannot write the table. Undefined for other tables. */
  readonly source?: TableSource | undefined;
}

/** What fills a table in place of programs, such as an SQL table. */
export interface TableSource {
  /** For messages: `the SQL table "public"."orders"`. */
  readonly description: string;
}

/**
 * A recipe that writes a column together with a table whose rows are determined by that column's
 * values.
 */
export interface TableWriter {
  readonly column: {
    readonly table: TableDefinition;
    readonly name: string;
    readonly qualifier: string | undefined;
  };
}
