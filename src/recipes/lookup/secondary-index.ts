import {
  type AnyTable,
  boolean,
  type Change,
  type Column,
  InvalidKeyError,
  type KeyCodec,
  type KeyPart,
  type Observer,
  type ObserverOptions,
  observer,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions, type OptionKind } from "../options.js";
import type { View } from "../view.js";
import { type ColumnKeeper, type KeptChange, writeKept } from "./kept-column.js";

/** What {@link eventualIndex} and {@link exactIndex} are told of an index. */
export interface IndexOptions<V, I, K = string> {
  /** The codec of what is indexed, which must have an order: `text()`, `int()` and the like. */
  readonly by: KeyPart<I>;
  /** What a value is found by: none, one or several. Must always say the same of the same value. */
  readonly of: (value: V, row: K) => Iterable<I>;
}

/** Which entries of an index. */
export interface IndexRange<I> {
  /** First, inclusive. Default: the first there is. */
  readonly start?: I | undefined;
  /** The one after the last. Default: none. */
  readonly end?: I | undefined;
  /** Default: false. */
  readonly reverse?: boolean | undefined;
  /** The most entries. Default: no limit. */
  readonly limit?: number | undefined;
}

/** Where a row stands in an index. */
export interface IndexEntry<I, K = string> {
  readonly by: I;
  readonly row: K;
}

const indexOptions: Readonly<Record<keyof IndexOptions<never, never>, OptionKind>> = {
  by: "any",
  of: "function",
};

/** Finds the rows of a column by what their values say. See {@link eventualIndex} and {@link exactIndex}. */
export class SecondaryIndex<V, I, K = string> {
  readonly name: string;
  readonly column: Column<V, K>;
  /** The index's table. */
  readonly table: AnyTable;
  readonly #options: IndexOptions<V, I, K>;
  readonly #keys: KeyText<K>;
  readonly #entries: Column<boolean, readonly [I, string]>;

  /** @internal */
  constructor(name: string, column: Column<V, K>, options: IndexOptions<V, I, K>, isExact = false) {
    this.name = name;
    this.column = column;
    this.#options = options;
    // The key codec of strings has no public name, and needs none: their text is what they are.
    this.#keys = keyText(column.table.key as KeyCodec<K>);
    const key = tuple(options.by, text());
    const entries = table(name, { entry: boolean() }, { key, writtenWith: isExact ? this : undefined });
    this.table = entries;
    this.#entries = entries.entry as Column<boolean, readonly [I, string]>;
  }

  /** The rows whose values are found by this, in the order of their keys as text. */
  async *find(
    view: View,
    by: NoInfer<I>,
    options: { readonly limit?: number | undefined } = {},
  ): AsyncGenerator<K> {
    checkOptions("find", options, { limit: "any" });
    for await (const { row } of view.scan(this.#entries, { prefix: [by] as never, ...options })) {
      yield this.#keys.parse(row[1]);
    }
  }

  /** The entries of a range, in order of what they are found by. */
  async *range(view: View, range: IndexRange<NoInfer<I>> = {}): AsyncGenerator<IndexEntry<I, K>> {
    checkOptions("range", range, { start: "any", end: "any", reverse: "any", limit: "any" });
    const { start, end, reverse, limit } = range;
    const bounds = {
      start: start === undefined ? undefined : ([start, ""] as const),
      end: end === undefined ? undefined : ([end, ""] as const),
    };
    for await (const { row } of view.scan(this.#entries, { ...bounds, reverse, limit })) {
      yield { by: row[0], row: this.#keys.parse(row[1]) };
    }
  }

  /** Finds where a row's entries are and belong; answers what moves them. @internal */
  moving({ row, rowText, previous, value }: KeptChange<V, K>): (tx: Transaction) => void {
    const { by } = this.#options;
    const idOf = (each: I) => Buffer.from(by.encode(each)).toString("hex");
    const after = new Map(this.#of(value(), row()).map((each) => [idOf(each), each]));
    const before = new Map(this.#of(previous(), row()).map((each) => [idOf(each), each]));
    const added = [...after].filter(([id]) => !before.has(id)).map(([, each]) => each);
    const removed = [...before].filter(([id]) => !after.has(id)).map(([, each]) => each);
    // Before anything is written: one that is refused must not leave the others.
    for (const each of added) this.#checkEntry(each, rowText);
    return (tx) => {
      for (const each of added) tx.set(this.#entries, [each, rowText], true);
      for (const each of removed) tx.delete(this.#entries, [each, rowText]);
    };
  }

  #checkEntry(by: I, rowText: string): void {
    try {
      this.#entries.table.key.encode([by, rowText]);
    } catch (cause) {
      if (!(cause instanceof InvalidKeyError)) throw cause;
      throw new InvalidKeyError(
        `Index "${this.name}", row ${JSON.stringify(rowText.slice(0, 100))}: ${cause.message}. An entry's key is what the row is found by, and ` +
          "the row: let `of` answer something shorter, such as a hash.",
        { cause },
      );
    }
  }

  #of(value: V | undefined, row: K): readonly I[] {
    return value === undefined ? [] : [...this.#options.of(value, row)];
  }
}

/** An index that an observer keeps. */
export class EventualIndex<V, I, K = string> extends SecondaryIndex<V, I, K> {
  /** Keeps the index. Goes into `observers` of `open`. */
  readonly observer: Observer;

  /** @internal */
  constructor(name: string, column: Column<V, K>, options: IndexOptions<V, I, K>, observed: ObserverOptions) {
    super(name, column, options);
    const keys = keyText(column.table.key as KeyCodec<K>);
    const keep = (tx: Transaction, { row, value, previous }: Change<V, K>) => {
      const rowText = keys.format(row);
      const change = {
        row: () => keys.parse(rowText),
        rowText,
        value: () => value,
        previous: () => previous,
      };
      this.moving(change)(tx);
    };
    this.observer = observer(name, column, keep, observed);
  }
}

/** An index that is kept in the transactions that write the column: they write through it. */
export class ExactIndex<V, I, K = string> extends SecondaryIndex<V, I, K> implements ColumnKeeper<V, K> {
  /** @internal */
  constructor(name: string, column: Column<V, K>, options: IndexOptions<V, I, K>) {
    super(name, column, options, true);
  }

  /** Sets the column and its entries. If the column has other indexes or constraints, use a `columnWriter` of all. */
  set(tx: Transaction, row: NoInfer<K>, value: NoInfer<V>): Promise<void> {
    return writeKept(tx, this, row, value);
  }

  /** Deletes the column and its entries. */
  delete(tx: Transaction, row: NoInfer<K>): Promise<void> {
    return writeKept(tx, this, row, undefined);
  }

  /** @internal */
  async prepare(tx: Transaction, change: KeptChange<V, K>): Promise<() => void> {
    const move = this.moving(change);
    return () => move(tx);
  }
}

/**
 * An index that an observer keeps: writers do nothing for it and do not wait for it, and it follows what is committed by as long as
 * a run takes to come. For rows that were there before it, `db.backfill(index.observer)`.
 *
 * Declares the table and the observer `NAME`. Where `of` is to say something else, declare an index of a new name.
 *
 * @example
 * const byCity = eventualIndex("by_city", people.address, { by: text(), of: ({ city }) => [city] });
 * await using db = await open("./data", { tables: [byCity.table], observers: [byCity.observer] });
 * for await (const row of byCity.find(snapshot, "Bergen")) show(row);
 */
export function eventualIndex<V, I, K>(
  name: string,
  column: Column<V, K>,
  options: IndexOptions<V, I, K>,
  observed: ObserverOptions = {},
): EventualIndex<V, I, K> {
  checkOptions("eventualIndex", options, indexOptions);
  return new EventualIndex(name, column, options, observed);
}

/**
 * An index that is exact in every snapshot: the transactions that write the column write its entries too, by `set` and `delete` of
 * the index. A program that writes the column without it leaves the index wrong. Several of one column: {@link columnWriter}.
 *
 * Declares the table `NAME`.
 *
 * @example
 * const byCity = exactIndex("by_city", people.address, { by: text(), of: ({ city }) => [city] });
 * await db.transact((tx) => byCity.set(tx, "ann", { city: "Bergen" }));
 */
export function exactIndex<V, I, K>(
  name: string,
  column: Column<V, K>,
  options: IndexOptions<V, I, K>,
): ExactIndex<V, I, K> {
  checkOptions("exactIndex", options, indexOptions);
  return new ExactIndex(name, column, options);
}
