import {
  type AnyTable,
  bytes,
  type Column,
  type Database,
  type Family,
  InvalidArgumentError,
  type Snapshot,
  type Transaction,
} from "../index.js";

/** What recipes read from: a transaction, which sees its own writes too, or a snapshot. */
export type View = Transaction | Snapshot;

/** Throws unless the value is a transaction or a snapshot, and not a database. */
export function checkView(call: string, view: unknown): void {
  const { get, scan } = (view ?? {}) as Partial<View>;
  if (typeof get === "function" && typeof scan === "function") return;
  throw first(call, "a transaction, or a snapshot that `db.snapshot()` returned", view);
}

/** Throws unless the value is a transaction, and not a database or a snapshot. */
export function checkTransaction(call: string, tx: unknown): void {
  const { get, set } = (tx ?? {}) as Partial<Transaction>;
  if (typeof get === "function" && typeof set === "function") return;
  throw first(call, "a transaction, such as the one that `db.transact` gives its function", tx);
}

/** Throws unless the value is a database. */
export function checkDatabase(call: string, db: unknown): void {
  if (isDatabase(db)) return;
  throw first(call, "a database that `open` returned", db);
}

function isDatabase(value: unknown): value is Database {
  return typeof (value as Partial<Database> | null | undefined)?.transact === "function";
}

function first(call: string, wanted: string, given: unknown): InvalidArgumentError {
  const type = given === null || given === undefined ? String(given) : `a value of type ${typeof given}`;
  return new InvalidArgumentError(
    `The first argument of \`${call}\` must be ${wanted}, not ${isDatabase(given) ? "a database" : type}.`,
  );
}

/**
 * Returns a column of a table whose types depend on a recipe's type parameters, which TypeScript
 * cannot infer inside the recipe.
 */
export function columnOf<V, K>(table: AnyTable, name: string): Column<V, K> {
  return (table as unknown as Readonly<Record<string, Column<V, K>>>)[name]!;
}

/**
 * Returns the column or family with its stored bytes as values. Recipes use it to move values even if
 * the codec refuses them.
 */
export function bytesOf<K>(column: Column<unknown, K>): Column<Uint8Array, K>;
export function bytesOf<K>(family: Family<unknown, K>): Family<Uint8Array, K>;
export function bytesOf(stored: object): unknown {
  return Object.create(stored, { codec: { value: bytes() } });
}

/** The column's name in the program, by which rows have its value. */
export function propertyOf({ table, name }: Pick<Column<unknown, unknown>, "table" | "name">): string {
  return table.columns.get(name)?.property ?? name;
}

/** As {@link columnOf}, for a family. */
export function familyOf<V, K>(table: AnyTable, name: string): Family<V, K> {
  return (table as unknown as Readonly<Record<string, Family<V, K>>>)[name]!;
}
