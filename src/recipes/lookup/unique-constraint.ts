import {
  type AnyTable,
  type Column,
  type Database,
  InvalidArgumentError,
  InvalidValueError,
  type KeyCodec,
  type Transaction,
  table,
  text,
} from "../../index.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkColumn, checkOptions, shown } from "../options.js";
import { checkView, type View } from "../view.js";
import { type ColumnKeeper, type KeptChange, writeKept } from "./kept-column.js";
import { type AnyLookup, lookupBrand } from "./lookup.js";
import { type RebuildOptions, type RebuildReport, rebuild } from "./rebuild.js";

/**
 * Thrown if another row has the value. Nothing was written. `owner` is the key of that row, as
 * text.
 */
export class UniqueConstraintError extends InvalidValueError {
  readonly constraint: string;
  readonly row: string;
  readonly owner: string;

  constructor(constraint: string, value: string, row: string, owner: string) {
    super(
      `Unique constraint "${constraint}": ${JSON.stringify(value)} is taken by row ${showRow(owner)}, so row ` +
        `${showRow(row)} cannot have it. Choose another value, or first remove it from that row.`,
    );
    this.constraint = constraint;
    this.row = row;
    this.owner = owner;
  }
}

/** A composite key is JSON already, as text. */
function showRow(text: string): string {
  return /^\[.*\]$/s.test(text) ? text : JSON.stringify(text);
}

/** The options of {@link uniqueConstraint}. */
export interface UniqueOptions<V, K = string> {
  /**
   * Returns a key for each value. Values with equal keys count as the same. With the row's key in it,
   * or a part of that, a value must be unique only among some rows, such as those of a tenant.
   */
  readonly by: (value: V, row: K) => string;
  /**
   * A whole number from 1. Raise it when `by` changes: `percolator schema` then says that the owners
   * must be rebuilt, until they are. Default: 1.
   */
  readonly version?: number | undefined;
}

/** A column in which no two rows have the same value. {@link uniqueConstraint} creates it. */
export class UniqueConstraint<V, K = string> implements ColumnKeeper<V, K>, AnyLookup {
  /** @internal */
  readonly [lookupBrand] = true;
  readonly name: string;
  readonly column: Column<V, K>;
  /** The table that holds the owner of each value. List it in `tables` of `open`. */
  readonly table: AnyTable;
  readonly #by: (value: V, row: K) => string;
  readonly #version: number;
  readonly #keys: KeyText<K>;
  readonly #owner: Column<string>;

  /** @internal */
  constructor(name: string, column: Column<V, K>, { by, version = 1 }: UniqueOptions<V, K>) {
    this.name = name;
    this.column = column;
    this.#by = by;
    this.#version = version;
    this.#keys = keyText(column.table.key as KeyCodec<K>);
    const owners = table(name, { owner: text() }, { writtenWith: this, version });
    this.table = owners;
    this.#owner = owners.owner;
  }

  /**
   * Sets the column of a row and makes the row the owner of the value. The row's old value becomes
   * free. If the column has other constraints or indexes, use a {@link columnWriter} instead.
   *
   * @throws UniqueConstraintError if another row has the value.
   */
  set(tx: Transaction, row: NoInfer<K>, value: NoInfer<V>): Promise<void> {
    return writeKept(tx, this, row, { value });
  }

  /**
   * Deletes the column of a row, and frees its value. If the column has other constraints or
   * indexes, use a {@link columnWriter} instead.
   */
  delete(tx: Transaction, row: NoInfer<K>): Promise<void> {
    return writeKept(tx, this, row, undefined);
  }

  /** @internal */
  get entryTables(): readonly AnyTable[] {
    return [this.table];
  }

  /** @internal */
  async prepare(tx: Transaction, { row, rowText, previous, value }: KeptChange<V, K>): Promise<() => void> {
    const given = value();
    const taken = this.#keyOf(given, row());
    if (given !== undefined && typeof taken !== "string") {
      throw new InvalidValueError(
        `Unique constraint "${this.name}", row ${showRow(rowText)}: \`by\` must return a string, not ${shown(taken)}.`,
      );
    }
    const owner = taken === undefined ? undefined : await tx.get(this.#owner, taken);
    if (taken !== undefined && owner !== undefined && owner !== rowText) {
      throw new UniqueConstraintError(this.name, taken, rowText, owner);
    }
    const had = this.#keyOf(previous(), row());
    const hadOwner = had === undefined || had === taken ? rowText : await tx.get(this.#owner, had);
    // Frees the old value unless another row owns it, which may be if the column was written before
    // the constraint existed. Deletes an owner that is missing too: a rebuild may be about to add it.
    const isFreed = had !== undefined && had !== taken && (hadOwner ?? rowText) === rowText;
    return () => {
      if (isFreed) tx.delete(this.#owner, had);
      if (taken !== undefined) tx.set(this.#owner, taken, rowText);
    };
  }

  /**
   * Makes the owners those of the values that the rows have now, by the current `by`: for a column
   * that was written before the constraint existed, and after a change of `by`. First deploy the
   * program with the new definition everywhere. Repeat the call if it is interrupted; with `resume`, it
   * continues.
   *
   * Rows whose value another row owns keep it, and are in the report. Change their values, and repeat
   * the call.
   *
   * @example
   * const { duplicates, examples } = await emails.rebuild(db);
   */
  rebuild(db: Database, options: RebuildOptions = {}): Promise<RebuildReport> {
    const keyIn = async (tx: Transaction, rowText: string) => {
      const value = await tx.get(this.column, this.#keys.parse(rowText));
      return this.#keyOf(value, this.#keys.parse(rowText));
    };
    return rebuild(
      db,
      {
        column: this.column as Column<unknown, unknown>,
        entries: this.#owner as Column<unknown, unknown>,
        version: this.#version,
        restore: async (tx, row, value) => {
          const rowText = this.#keys.format(row as K);
          const key = this.#by(value as V, this.#keys.parse(rowText));
          const owner = await tx.get(this.#owner, key);
          if (owner === rowText) return { added: 0 };
          if (owner !== undefined && (await keyIn(tx, owner)) === key)
            return { added: 0, duplicate: { key, owner, row: rowText } };
          tx.set(this.#owner, key, rowText);
          return { added: 1 };
        },
        isStale: async (tx, key, owner) => (await keyIn(tx, owner as string)) !== key,
      },
      options,
    );
  }

  #keyOf(value: V | undefined, row: K): string | undefined {
    return value === undefined ? undefined : this.#by(value, row);
  }

  /**
   * Returns the row that has a value, or undefined if the value is free. If `by` uses the row's key,
   * `among` is the key of any of the rows to look among: it need not exist.
   *
   * @throws InvalidArgumentError if `by` takes a row's key, and `among` is not given.
   */
  async find(view: View, value: NoInfer<V>, among?: NoInfer<K>): Promise<K | undefined> {
    checkView("find", view);
    if (among === undefined && this.#by.length > 1) {
      throw new InvalidArgumentError(
        `\`by\` of the unique constraint "${this.name}" takes a row's key too. Give \`find\` the key of a row to look among, after ` +
          "the value. Or use `findByKey`.",
      );
    }
    const { codec } = this.column;
    return this.findByKey(view, this.#by(codec.decode(codec.encode(value)), among as K));
  }

  /**
   * Returns the row whose value has this key: a result of `by`. Use it if the program has the key
   * but not the value.
   */
  async findByKey(view: View, key: string): Promise<K | undefined> {
    checkView("findByKey", view);
    const owner = await view.get(this.#owner, key);
    return owner === undefined ? undefined : this.#keys.parse(owner);
  }
}

/**
 * Keeps the values of a column unique over all rows. `by` returns a key for each value, and values
 * with equal keys count as the same.
 *
 * Each key in use has a row that names its owner. Two transactions that take the same value write
 * the same cell, so one of them conflicts. The transaction that conflicted runs again and then
 * finds the owner. Programs must write the column only with `set` and `delete` of the constraint,
 * or with a {@link columnWriter}. For values that were written before, and after a change of `by`,
 * call {@link UniqueConstraint.rebuild}.
 *
 * Declares the table `NAME`.
 *
 * @example
 * const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });
 * await db.transact((tx) => emails.set(tx, "user 1", "Ann@example.org"));
 */
export function uniqueConstraint<V, K>(
  name: string,
  column: Column<V, K>,
  options: UniqueOptions<V, K>,
): UniqueConstraint<V, K> {
  checkColumn("uniqueConstraint", column);
  checkOptions("uniqueConstraint", options, { by: "function", version: "any" });
  return new UniqueConstraint(name, column, options);
}
