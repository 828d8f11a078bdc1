import { type AnyTable, bytes, type Column, type Family, type Snapshot, type Transaction } from "../index.js";

/** What recipes read from: a transaction, which sees its own writes too, or a snapshot. */
export type View = Transaction | Snapshot;

/**
 * Returns a column of a table whose types depend on a recipe's type parameters, which TypeScript
 * cannot infer inside the recipe.
 */
export function columnOf<V, K>(table: AnyTable, name: string): Column<V, K> {
  return (table as unknown as Readonly<Record<string, Column<V, K>>>)[name]!;
}

/**
 * Returns the column with its stored bytes as values. Recipes use it to move values even if the
 * column's codec refuses them.
 */
export function bytesOf<K>(column: Column<unknown, K>): Column<Uint8Array, K> {
  return Object.create(column, { codec: { value: bytes() } }) as Column<Uint8Array, K>;
}

/** The column's name in the program, by which rows have its value. */
export function propertyOf({ table, name }: Pick<Column<unknown, unknown>, "table" | "name">): string {
  return table.columns.get(name)?.property ?? name;
}

/** As {@link columnOf}, for a family. */
export function familyOf<V, K>(table: AnyTable, name: string): Family<V, K> {
  return (table as unknown as Readonly<Record<string, Family<V, K>>>)[name]!;
}
