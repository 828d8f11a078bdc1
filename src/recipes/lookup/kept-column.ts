import {
  type AnyTable,
  type Column,
  type Database,
  InvalidArgumentError,
  type KeyCodec,
  SchemaError,
  type Transaction,
} from "../../index.js";
import { callsInTurn } from "../in-turn.js";
import { keyText } from "../key-text.js";
import { quiet } from "../quiet.js";
import { takeValue } from "../taken-value.js";
import { bytesOf, checkTransaction } from "../view.js";

/**
 * A write of a kept column. Each call of a function returns a new copy, which the caller may
 * change.
 */
export interface KeptChange<V, K> {
  readonly row: () => K;
  readonly rowText: string;
  /** Returns the old value, or `undefined` if the cell is empty. */
  readonly previous: () => V | undefined;
  /** Returns the new value, or `undefined` for a delete. */
  readonly value: () => V | undefined;
}

/**
 * A unique constraint or an exact index. Each transaction that writes the column also updates the
 * entries of the constraint or index. {@link columnWriter} combines several keepers of one column.
 */
export interface ColumnKeeper<V, K = string> {
  readonly column: Column<V, K>;
  /** The tables of its entries. @internal */
  readonly entryTables: readonly AnyTable[];
  /**
   * Reads what it needs and checks the change, but writes nothing. Resolves to a function that
   * performs the writes. @internal
   */
  prepare(tx: Transaction, change: KeptChange<V, K>): Promise<() => void>;
}

/** Whether the value is a {@link ColumnKeeper}, of this or another copy of the package. */
export function isColumnKeeper(value: unknown): value is ColumnKeeper<unknown, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const { column, prepare } = value as Partial<ColumnKeeper<unknown, unknown>>;
  return column?.kind === "column" && typeof prepare === "function";
}

// Shared by all keepers, because one transaction may use two keepers of one column.
const inTurn = callsInTurn();

/**
 * Sets a kept column of a row and updates everything that depends on it, or writes nothing. If no
 * value is `given`, deletes the cell.
 */
export function writeKept<V, K>(
  tx: Transaction,
  keeper: ColumnKeeper<V, K>,
  row: K,
  given: { readonly value: V } | undefined,
): Promise<void> {
  return quiet(write(tx, keeper, row, given));
}

async function write<V, K>(
  tx: Transaction,
  keeper: ColumnKeeper<V, K>,
  row: K,
  given: { readonly value: V } | undefined,
): Promise<void> {
  checkTransaction(given === undefined ? "delete" : "set", tx);
  const { column } = keeper;
  const keys = keyText(column.table.key as KeyCodec<K>);
  const rowText = keys.format(row);
  const bytes = given && takeValue(tx, column, row, given.value);
  await inTurn(tx, async () => {
    const own = keys.parse(rowText);
    const before = await tx.get(column, own);
    const previous = before === undefined ? undefined : column.codec.encode(before);
    const decode = (each: Uint8Array | undefined) =>
      each === undefined ? undefined : column.codec.decode(each);
    const writeEntries = await keeper.prepare(tx, {
      row: () => keys.parse(rowText),
      rowText,
      previous: () => decode(previous),
      value: () => decode(bytes),
    });
    writeEntries();
    if (bytes !== undefined) tx.set(bytesOf(column), own, bytes);
    else if (previous !== undefined) tx.delete(column, own);
  });
}

/** Writes a column that has several constraints and indexes. {@link columnWriter} creates it. */
export class ColumnWriter<V, K = string> implements ColumnKeeper<V, K> {
  readonly column: Column<V, K>;
  readonly #keepers: readonly ColumnKeeper<V, K>[];

  /** @internal */
  constructor(first: ColumnKeeper<V, K>, others: readonly ColumnKeeper<V, K>[]) {
    this.column = first.column;
    this.#keepers = [first, ...others];
    for (const { column } of others) {
      if (nameOf(column) === nameOf(first.column)) continue;
      throw new InvalidArgumentError(
        `columnWriter() takes constraints and indexes of one column, not of ${nameOf(first.column)} and ${nameOf(column)}. ` +
          "Make a writer for each column.",
      );
    }
  }

  /** @internal */
  get entryTables(): readonly AnyTable[] {
    return this.#keepers.flatMap((each) => each.entryTables);
  }

  /**
   * Sets the column of a row, and updates the entries of all its constraints and indexes. If one of
   * them refuses the value, nothing is written.
   *
   * @throws UniqueConstraintError if another row has the value.
   */
  set(tx: Transaction, row: NoInfer<K>, value: NoInfer<V>): Promise<void> {
    return writeKept(tx, this, row, { value });
  }

  /** Deletes the column of a row, and its entries. */
  delete(tx: Transaction, row: NoInfer<K>): Promise<void> {
    return writeKept(tx, this, row, undefined);
  }

  /** @internal */
  async prepare(tx: Transaction, change: KeptChange<V, K>): Promise<() => void> {
    const writes: (() => void)[] = [];
    for (const keeper of this.#keepers) writes.push(await keeper.prepare(tx, change));
    return () => {
      for (const write of writes) write();
    };
  }
}

/**
 * Puts the keepers of one column together. Each alone would delete the cell, and the others would not
 * find their entries any more.
 */
export function joinKeepers<L extends object, K>(
  lookups: readonly L[],
): readonly (L | ColumnWriter<unknown, K>)[] {
  const keepers = new Map<string, ColumnKeeper<unknown, K>[]>();
  const others: L[] = [];
  for (const each of lookups) {
    if (!isColumnKeeper(each)) {
      others.push(each);
      continue;
    }
    const keeper = each as unknown as ColumnKeeper<unknown, K>;
    const name = nameOf(keeper.column);
    keepers.set(name, [...(keepers.get(name) ?? []), keeper]);
  }
  return [...others, ...[...keepers.values()].map(([first, ...more]) => new ColumnWriter(first!, more))];
}

/** Throws if the database records a constraint or index of a writer's column that the writer does not have. */
export async function checkKeepers(db: Database, writers: readonly unknown[]): Promise<void> {
  const tables = await db.tables();
  for (const writer of writers) {
    if (!(writer instanceof ColumnWriter)) continue;
    const name = nameOf(writer.column);
    const given = new Set(writer.entryTables.map((each) => definitionOf(each).name));
    for (const entries of tables.values()) {
      const { name: missing, writtenWith: by } = definitionOf(entries);
      if (by === undefined || given.has(missing)) continue;
      if (nameOf({ table: { name: by.table }, name: by.column, qualifier: by.qualifier }) !== name) continue;
      throw new SchemaError(
        `The entries of table ${missing} for column ${name} would stay: it is a unique constraint or exact index of the column too. ` +
          "Give it in `lookups`, or drop the table if no program uses it.",
      );
    }
  }
}

function definitionOf(table: AnyTable): Column<unknown>["table"] {
  return Object.values(table as unknown as Record<string, Column<unknown>>)[0]!.table;
}

function nameOf({
  table,
  name,
  qualifier,
}: Pick<Column<unknown>, "name" | "qualifier"> & { readonly table: { readonly name: string } }): string {
  return `${table.name}.${name}${qualifier === undefined ? "" : `:${qualifier}`}`;
}

/**
 * Creates a writer for a column with several unique constraints and exact indexes. Each of them
 * alone would update only its own entries. The program must therefore write such a column only
 * through this writer. Reads need no writer.
 *
 * @throws InvalidArgumentError if the constraints and indexes belong to different columns.
 *
 * @example
 * const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });
 * const byDomain = exactIndex("by_domain", users.email, { by: text(), of: (email) => [email.split("@")[1]!] });
 * const email = columnWriter(emails, byDomain);
 * await db.transact((tx) => email.set(tx, "user 1", "ann@example.org"));
 */
export function columnWriter<V, K>(
  first: ColumnKeeper<V, K>,
  ...others: readonly ColumnKeeper<NoInfer<V>, NoInfer<K>>[]
): ColumnWriter<V, K> {
  if (![first, ...others].every(isColumnKeeper)) {
    throw new InvalidArgumentError("`columnWriter` takes unique constraints and exact indexes.");
  }
  return new ColumnWriter(first, others);
}
