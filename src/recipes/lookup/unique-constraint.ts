import {
  type AnyTable,
  type Column,
  InvalidValueError,
  type KeyCodec,
  type Transaction,
  table,
  text,
} from "../../index.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions } from "../options.js";
import type { View } from "../view.js";
import { type ColumnKeeper, type KeptChange, writeKept } from "./kept-column.js";

/** Another row has the value. Nothing was written. `owner` is that row, as text. */
export class UniqueConstraintError extends InvalidValueError {
  readonly constraint: string;
  readonly row: string;
  readonly owner: string;

  constructor(constraint: string, value: string, row: string, owner: string) {
    super(
      `Unique constraint "${constraint}": ${JSON.stringify(value)} is taken by row ${JSON.stringify(owner)}, so row ` +
        `${JSON.stringify(row)} cannot have it. Choose another value, or take it from that row first.`,
    );
    this.constraint = constraint;
    this.row = row;
    this.owner = owner;
  }
}

/** A column in which no two rows have the same value. Made by {@link uniqueConstraint}. */
export class UniqueConstraint<V, K = string> implements ColumnKeeper<V, K> {
  readonly name: string;
  readonly column: Column<V, K>;
  /** Who has each value. */
  readonly table: AnyTable;
  readonly #by: (value: V) => string;
  readonly #keys: KeyText<K>;
  readonly #owner: Column<string>;

  /** @internal */
  constructor(name: string, column: Column<V, K>, by: (value: V) => string) {
    this.name = name;
    this.column = column;
    this.#by = by;
    this.#keys = keyText(column.table.key as KeyCodec<K>);
    const owners = table(name, { owner: text() }, { writtenWith: this });
    this.table = owners;
    this.#owner = owners.owner;
  }

  /**
   * Sets the column of a row, and takes the value for it; what the row had is free again. If the column has indexes or other
   * constraints too, use a `columnWriter` of all.
   *
   * @throws UniqueConstraintError if another row has the value.
   */
  set(tx: Transaction, row: NoInfer<K>, value: NoInfer<V>): Promise<void> {
    return writeKept(tx, this, row, value);
  }

  /** Deletes the column of a row; its value is free again. */
  delete(tx: Transaction, row: NoInfer<K>): Promise<void> {
    return writeKept(tx, this, row, undefined);
  }

  /** @internal */
  async prepare(tx: Transaction, { rowText, previous, value }: KeptChange<V, K>): Promise<() => void> {
    const taken = this.#keyOf(value());
    const owner = taken === undefined ? undefined : await tx.get(this.#owner, taken);
    if (taken !== undefined && owner !== undefined && owner !== rowText) {
      throw new UniqueConstraintError(this.name, taken, rowText, owner);
    }
    const had = this.#keyOf(previous());
    // Another row may own it: the column can have been written before there was a constraint.
    const isFreed = had !== undefined && had !== taken && (await tx.get(this.#owner, had)) === rowText;
    return () => {
      if (isFreed) tx.delete(this.#owner, had);
      if (taken !== undefined) tx.set(this.#owner, taken, rowText);
    };
  }

  #keyOf(value: V | undefined): string | undefined {
    return value === undefined ? undefined : this.#by(value);
  }

  /** The row that has a value. */
  find(view: View, value: NoInfer<V>): Promise<K | undefined> {
    const { codec } = this.column;
    return this.findByKey(view, this.#by(codec.decode(codec.encode(value))));
  }

  /** The row that has the value of this key: what `by` answers for it. For a program that has the key, and not the value. */
  async findByKey(view: View, key: string): Promise<K | undefined> {
    const owner = await view.get(this.#owner, key);
    return owner === undefined ? undefined : this.#keys.parse(owner);
  }
}

/**
 * Keeps values unique over all rows of a column. Each value that is taken has a row of its own, which names its owner: two transactions
 * that take the same value write the same cell, so one of them conflicts, is run again, and then finds the owner. The
 * column is to be written by `set` and `delete` of the constraint only, or of a {@link columnWriter}. `by` says which values count as
 * the same.
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
  options: { readonly by: (value: V) => string },
): UniqueConstraint<V, K> {
  checkOptions("uniqueConstraint", options, { by: "function" });
  return new UniqueConstraint(name, column, options.by);
}
