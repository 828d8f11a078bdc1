import type { KeyCodec } from "./key/key.js";
import type { Codec } from "./value/codec.js";

/**
 * Under which a table has its {@link TableDefinition}: a symbol, so that columns may have any name.
 */
export const definition: unique symbol = Symbol.for("percolatordb.table");

export type ColumnKind = "column" | "family" | "signal";

/** What a table declares of a column. */
export interface ColumnDefinition {
  readonly name: string;
  readonly kind: ColumnKind;
  /** `undefined` for a signal, and only there. */
  readonly codec: Codec<unknown> | undefined;
}

/** A column by its names, as the database records it. Plain JSON. */
export interface ColumnName {
  readonly table: string;
  /** The column's name, or the family's. */
  readonly column: string;
  /** Of a family's cell. */
  readonly qualifier?: string | undefined;
}

/** What a table declares. */
export interface TableDefinition {
  readonly name: string;
  readonly key: KeyCodec<unknown>;
  /** In the order of the declaration. Never empty. */
  readonly columns: ReadonlyMap<string, ColumnDefinition>;
  /**
   * The column that the same transactions write, of a table whose rows follow from that column's
   * values.
   */
  readonly writtenWith?: ColumnName | undefined;
  /** What writes both, if the program declares the table. */
  readonly writer?: TableWriter | undefined;
}

/** What writes a column together with a table whose rows follow from the column's values. */
export interface TableWriter {
  readonly column: {
    readonly table: TableDefinition;
    readonly name: string;
    readonly qualifier: string | undefined;
  };
}
