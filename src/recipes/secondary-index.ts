import {
  type AnyTable,
  boolean,
  type Column,
  type KeyCodec,
  type KeyPart,
  type Observer,
  type ObserverOptions,
  observer,
  type Transaction,
  table,
  text,
  tuple,
} from "../index.js";
import { callsInTurn } from "./in-turn.js";
import { type KeyText, keyText } from "./key-text.js";
import type { View } from "./view.js";

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
  constructor(name: string, column: Column<V, K>, options: IndexOptions<V, I, K>) {
    this.name = name;
    this.column = column;
    this.#options = options;
    // The key codec of strings has no public name, and needs none: their text is what they are.
    this.#keys = keyText(column.table.key as KeyCodec<K>);
    const entries = table(name, { entry: boolean() }, { key: tuple(options.by, text()) });
    this.table = entries;
    this.#entries = entries.entry as Column<boolean, readonly [I, string]>;
  }

  /** The rows whose values are found by this, in the order of their keys as text. */
  async *find(
    view: View,
    by: NoInfer<I>,
    options: { readonly limit?: number | undefined } = {},
  ): AsyncGenerator<K> {
    for await (const { row } of view.scan(this.#entries, { prefix: [by] as never, ...options })) {
      yield this.#keys.parse(row[1]);
    }
  }

  /** The entries of a range, in order of what they are found by. */
  async *range(view: View, range: IndexRange<NoInfer<I>> = {}): AsyncGenerator<IndexEntry<I, K>> {
    const { start, end, reverse, limit } = range;
    const bounds = {
      start: start === undefined ? undefined : ([start, ""] as const),
      end: end === undefined ? undefined : ([end, ""] as const),
    };
    for await (const { row } of view.scan(this.#entries, { ...bounds, reverse, limit })) {
      yield { by: row[0], row: this.#keys.parse(row[1]) };
    }
  }

  /** Moves a row's entries from where an earlier value put them to where a new one belongs. @internal */
  move(tx: Transaction, row: K, previous: V | undefined, value: V | undefined): void {
    const rowText = this.#keys.format(row);
    const { by } = this.#options;
    const before = new Map(
      this.#of(previous, row).map((each) => [Buffer.from(by.encode(each)).toString("hex"), each]),
    );
    for (const each of this.#of(value, row)) {
      if (!before.delete(Buffer.from(by.encode(each)).toString("hex")))
        tx.set(this.#entries, [each, rowText], true);
    }
    for (const each of before.values()) tx.delete(this.#entries, [each, rowText]);
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
    this.observer = observer(
      name,
      column,
      (tx, { row, value, previous }) => this.move(tx, row, previous, value),
      observed,
    );
  }
}

/** An index that is kept in the transactions that write the column: they write through it. */
export class ExactIndex<V, I, K = string> extends SecondaryIndex<V, I, K> {
  readonly #inTurn = callsInTurn();

  /** Sets the column and its entries. */
  set(tx: Transaction, row: NoInfer<K>, value: NoInfer<V>): Promise<void> {
    return this.#inTurn(tx, async () => {
      this.move(tx, row, await tx.get(this.column, row), value);
      tx.set(this.column, row, value);
    });
  }

  /** Deletes the column and its entries. */
  delete(tx: Transaction, row: NoInfer<K>): Promise<void> {
    return this.#inTurn(tx, async () => {
      this.move(tx, row, await tx.get(this.column, row), undefined);
      tx.delete(this.column, row);
    });
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
  return new EventualIndex(name, column, options, observed);
}

/**
 * An index that is exact in every snapshot: the transactions that write the column write its entries too, by `set` and `delete` of
 * the index. Who writes the column without it leaves it wrong.
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
  return new ExactIndex(name, column, options);
}
