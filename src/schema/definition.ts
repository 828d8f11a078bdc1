import type { Codec } from "./codec.js";
import type { KeyCodec } from "./key.js";

/** Under which a table has its {@link TableDefinition}: a symbol, so that columns may have any name. */
export const definition: unique symbol = Symbol.for("percolatordb.table");

export type ColumnKind = "column" | "family" | "signal";

/** What a table declares of a column. */
export interface ColumnDefinition {
  readonly name: string;
  readonly kind: ColumnKind;
  /** `undefined` for a signal, and only there. */
  readonly codec: Codec<unknown> | undefined;
}

/** What a table declares. */
export interface TableDefinition {
  readonly name: string;
  readonly key: KeyCodec<unknown>;
  /** In the order of the declaration. Never empty. */
  readonly columns: ReadonlyMap<string, ColumnDefinition>;
}
