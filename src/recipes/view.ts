import { type AnyTable, bytes, type Column, type Family, type Snapshot, type Transaction } from "../index.js";

/** What reads: a transaction, which sees its own writes too, or a snapshot. */
export type View = Transaction | Snapshot;

/** A column of a table whose types are a recipe's parameters: TypeScript finds them only once they are known. */
export function columnOf<V, K>(table: AnyTable, name: string): Column<V, K> {
  return (table as unknown as Readonly<Record<string, Column<V, K>>>)[name]!;
}

/** A column whose values are the bytes that are kept, for what moves them: also those that the column's codec refuses. */
export function bytesOf<K>(column: Column<unknown, K>): Column<Uint8Array, K> {
  return Object.create(column, { codec: { value: bytes() } }) as Column<Uint8Array, K>;
}

/** As {@link columnOf}, of a family. */
export function familyOf<V, K>(table: AnyTable, name: string): Family<V, K> {
  return (table as unknown as Readonly<Record<string, Family<V, K>>>)[name]!;
}
