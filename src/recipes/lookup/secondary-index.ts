import {
  type AnyTable,
  boolean,
  type Change,
  type Column,
  type Database,
  InvalidKeyError,
  InvalidValueError,
  type KeyCodec,
  type KeyPart,
  type Observer,
  type ObserverOptions,
  observer,
  PercolatorError,
  type Transaction,
  table,
  tuple,
} from "../../index.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkColumn, checkOptions, isIterable, type OptionKind, shown } from "../options.js";
import { type RowParts, rowParts } from "../row-parts.js";
import { checkView, type View } from "../view.js";
import { type ColumnKeeper, type KeptChange, writeKept } from "./kept-column.js";
import { type AnyLookup, lookupBrand } from "./lookup.js";
import { type RebuildOptions, type RebuildReport, rebuild } from "./rebuild.js";

/** The options of {@link eventualIndex} and {@link exactIndex}. */
export interface IndexOptions<V, I, K = string> {
  /** The codec of the indexed terms. It must have an order: `text()`, `int()` and the like. */
  readonly by: KeyPart<I>;
  /**
   * Returns the terms by which a value is found: none, one or several. It must always return the
   * same terms for the same value and row.
   */
  readonly of: (value: V, row: K) => Iterable<I>;
  /**
   * A whole number from 1. Raise it when `of` changes: `percolator schema` then says that the entries
   * must be rebuilt, until they are. Default: 1.
   */
  readonly version?: number | undefined;
}

/** The options of `find` of an index. */
export interface FindOptions<K = string> {
  /**
   * Begins behind this row, in the direction of the search: the last one of the page before.
   * Default: begins with the first.
   */
  readonly after?: K | undefined;
  /** Whether to begin with the last row. Default: false. */
  readonly reverse?: boolean | undefined;
  /** Most rows to return. Default: no limit. */
  readonly limit?: number | undefined;
}

/** A range of an index's entries. */
export interface IndexRange<I, K = string> {
  /** First term, inclusive. Default: the first term of the index. */
  readonly start?: I | undefined;
  /** End of the range, exclusive. Default: none. */
  readonly end?: I | undefined;
  /**
   * Begins behind this entry, in the direction of the range: the last one of the page before.
   * Default: begins with the first.
   */
  readonly after?: IndexEntry<I, K> | undefined;
  /** Whether to begin with the last entry. Default: false. */
  readonly reverse?: boolean | undefined;
  /** Most entries to return. Default: no limit. */
  readonly limit?: number | undefined;
}

/** One entry of an index: a term, and a row that is found by it. */
export interface IndexEntry<I, K = string> {
  readonly by: I;
  readonly row: K;
}

/** How to find out which value of a row is indexed. */
interface IndexedOptions<V> {
  /** The value that the transaction sees. */
  readonly present: () => V | undefined | Promise<V | undefined>;
  /** Whether the present value counts as handled if the observer has not handled any. */
  readonly adopt: boolean;
}

/** The key of an entry: the term, and then the parts of the row key, so that rows are in order. */
type EntryKey<I> = readonly [by: I, ...row: readonly unknown[]];

const indexOptions: Readonly<Record<keyof IndexOptions<never, never>, OptionKind>> = {
  by: "any",
  of: "function",
  version: "any",
};

/**
 * Finds the rows of a column by terms that a function derives from their values.
 * {@link eventualIndex} and {@link exactIndex} create one.
 */
export class SecondaryIndex<V, I, K = string> implements AnyLookup {
  /** @internal */
  readonly [lookupBrand] = true;
  readonly name: string;
  readonly column: Column<V, K>;
  /** The table of the index. List it in `tables` of `open`. */
  readonly table: AnyTable;
  readonly #options: IndexOptions<V, I, K>;
  readonly #keys: KeyText<K>;
  readonly #parts: RowParts<K>;
  readonly #entries: Column<boolean, EntryKey<I>>;

  /** @internal */
  constructor(name: string, column: Column<V, K>, options: IndexOptions<V, I, K>, isExact = false) {
    this.name = name;
    this.column = column;
    this.#options = options;
    // The definition of a table does not carry the type of its keys.
    const rowKey = column.table.key as KeyCodec<K>;
    this.#keys = keyText(rowKey);
    this.#parts = rowParts(rowKey);
    const key = tuple(options.by, ...this.#parts.codecs);
    const { version } = options;
    const writtenWith = isExact ? this : undefined;
    const entries = table(name, { entry: boolean() }, { key, writtenWith, version });
    this.table = entries;
    this.#entries = entries.entry as unknown as Column<boolean, EntryKey<I>>;
  }

  /**
   * Yields the rows that have this term, in the order of their keys. `after` is the last row of the
   * page before.
   */
  async *find(view: View, by: NoInfer<I>, options: FindOptions<NoInfer<K>> = {}): AsyncGenerator<K> {
    checkView("find", view);
    checkOptions("find", options, { after: "any", reverse: "any", limit: "any" });
    const { reverse, limit } = options;
    const after = options.after === undefined ? undefined : this.#keyOf({ by, row: options.after });
    for await (const { row } of view.scan(this.#entries, { prefix: [by] as never, after, reverse, limit })) {
      yield this.#rowOf(row);
    }
  }

  /** Yields the entries of a range, in the order of their terms, and then of the row keys. */
  async *range(view: View, range: IndexRange<NoInfer<I>, NoInfer<K>> = {}): AsyncGenerator<IndexEntry<I, K>> {
    checkView("range", view);
    checkOptions("range", range, { start: "any", end: "any", after: "any", reverse: "any", limit: "any" });
    const { start, end, reverse, limit } = range;
    const bounds = {
      after: range.after === undefined ? undefined : this.#keyOf(range.after),
      start: start === undefined ? undefined : ([start] as const),
      end: end === undefined ? undefined : ([end] as const),
    };
    for await (const { row } of view.scan(this.#entries, { ...bounds, reverse, limit })) {
      yield { by: row[0], row: this.#rowOf(row) };
    }
  }

  #keyOf({ by, row }: IndexEntry<I, K>): EntryKey<I> {
    return [by, ...this.#parts.of(row)];
  }

  #rowOf([, ...row]: EntryKey<I>): K {
    return this.#parts.keyOf(row);
  }

  /**
   * Compares a row's old and new entries. Returns the function that writes the difference.
   * @internal
   */
  moving({ row, rowText, previous, value }: KeptChange<V, K>): (tx: Transaction) => void {
    const { by } = this.#options;
    const idOf = (each: I) => Buffer.from(by.encode(each)).toString("hex");
    const after = new Map(this.#of(value(), row(), rowText).map((each) => [idOf(each), each]));
    const before = new Map(this.#of(previous(), row(), rowText).map((each) => [idOf(each), each]));
    const own = row();
    const added = [...after].filter(([id]) => !before.has(id)).map(([, by]) => this.#keyOf({ by, row: own }));
    const removed = [...before]
      .filter(([id]) => !after.has(id))
      .map(([, by]) => this.#keyOf({ by, row: own }));
    // Checks all entries before the first write, so that a refused entry leaves none of the others.
    for (const key of added) this.#checkEntry(key, rowText);
    return (tx) => {
      for (const key of added) tx.set(this.#entries, key, true);
      for (const key of removed) tx.delete(this.#entries, key);
    };
  }

  /**
   * Makes the entries those of the values that the rows have now, by the current `of`: for a column
   * that was written before the index existed, and after a change of `of`. First deploy the program
   * with the new definition everywhere. Repeat the call if it is interrupted; with `resume`, it continues.
   *
   * @example
   * const { added, removed } = await byCity.rebuild(db);
   */
  rebuild(db: Database, options: RebuildOptions = {}): Promise<RebuildReport> {
    const idOf = (each: I) => Buffer.from(this.#options.by.encode(each)).toString("hex");
    return rebuild(
      db,
      {
        column: this.column as Column<unknown, unknown>,
        entries: this.#entries as unknown as Column<unknown, unknown>,
        version: this.#options.version ?? 1,
        restore: async (tx, row, present) => {
          const value = await this.indexed(tx, row as K, { present: () => present as V, adopt: true });
          const rowText = this.#keys.format(row as K);
          let added = 0;
          for (const each of this.#of(value, this.#keys.parse(rowText), rowText)) {
            const key = this.#keyOf({ by: each, row: this.#keys.parse(rowText) });
            if ((await tx.get(this.#entries, key)) !== undefined) continue;
            this.#checkEntry(key, rowText);
            tx.set(this.#entries, key, true);
            added++;
          }
          return { added };
        },
        isStale: async (tx, entry) => {
          const key = entry as EntryKey<I>;
          const rowText = this.#keys.format(this.#rowOf(key));
          const row = this.#rowOf(key);
          const value = await this.indexed(tx, row, {
            present: () => tx.get(this.column, row),
            adopt: false,
          });
          const id = idOf(key[0]);
          return !this.#of(value, this.#keys.parse(rowText), rowText).some((each) => idOf(each) === id);
        },
      },
      options,
    );
  }

  /**
   * The value whose entries a row must have while the index is rebuilt.
   * @internal
   */
  async indexed(_tx: Transaction, _row: K, { present }: IndexedOptions<V>): Promise<V | undefined> {
    return present();
  }

  #checkEntry(key: EntryKey<I>, rowText: string): void {
    try {
      this.#entries.table.key.encode(key);
    } catch (cause) {
      if (!(cause instanceof PercolatorError && cause.code === "INVALID_KEY")) throw cause;
      throw new InvalidKeyError(
        `Index "${this.name}", row ${JSON.stringify(rowText.slice(0, 100))}: ${cause.message}. The key of an index entry holds the value and ` +
          "the row key. Let `of` return something shorter, such as a hash.",
        { cause },
      );
    }
  }

  #of(value: V | undefined, row: K, rowText: string): readonly I[] {
    if (value === undefined) return [];
    const terms = this.#options.of(value, row);
    if (isIterable(terms)) return [...terms];
    throw new InvalidValueError(
      `Index "${this.name}", row ${JSON.stringify(rowText.slice(0, 100))}: \`of\` must return an array or another iterable ` +
        `of terms, not ${shown(terms)}. For one term, return \`[term]\`.`,
    );
  }
}

/** An index that an observer updates. {@link eventualIndex} creates it. */
export class EventualIndex<V, I, K = string> extends SecondaryIndex<V, I, K> {
  /** Updates the index. List it in `observers` of `open`. */
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

  /**
   * The value that the observer has handled. If a change waits for the observer, its run moves the entries of
   * this value to those of the new one. Entries of the new value would stay if it changed again before that.
   * @internal
   */
  override async indexed(
    tx: Transaction,
    row: K,
    { present, adopt }: IndexedOptions<V>,
  ): Promise<V | undefined> {
    const handled = await tx.handled(this.observer.name, this.column, row, { adopt });
    return handled === undefined ? present() : handled.value;
  }
}

/**
 * An exact index: the transactions that write the column through it also update its entries. {@link
 * exactIndex} creates it.
 */
export class ExactIndex<V, I, K = string> extends SecondaryIndex<V, I, K> implements ColumnKeeper<V, K> {
  /** @internal */
  constructor(name: string, column: Column<V, K>, options: IndexOptions<V, I, K>) {
    super(name, column, options, true);
  }

  /**
   * Sets the column of a row and its entries. If the column has other constraints or indexes, use a
   * {@link columnWriter} instead.
   */
  set(tx: Transaction, row: NoInfer<K>, value: NoInfer<V>): Promise<void> {
    return writeKept(tx, this, row, { value });
  }

  /**
   * Deletes the column of a row and its entries. If the column has other constraints or indexes,
   * use a {@link columnWriter} instead.
   */
  delete(tx: Transaction, row: NoInfer<K>): Promise<void> {
    return writeKept(tx, this, row, undefined);
  }

  /** @internal */
  get entryTables(): readonly AnyTable[] {
    return [this.table];
  }

  /** @internal */
  async prepare(tx: Transaction, change: KeptChange<V, K>): Promise<() => void> {
    const move = this.moving(change);
    return () => move(tx);
  }
}

/**
 * Creates an index that an observer updates after each commit. Writers do nothing for the index and
 * do not wait for it, so it lags until the observer has run. To index rows that exist already, call
 * `db.backfill(index.observer)`.
 *
 * Declares the table and the observer `NAME`. After a change of `of`, call `index.rebuild(db)`.
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
  checkColumn("eventualIndex", column);
  checkOptions("eventualIndex", options, indexOptions);
  return new EventualIndex(name, column, options, observed);
}

/**
 * Creates an index that is exact in every snapshot. Programs write the column with `set` and
 * `delete` of the index, and the same transaction writes the entries. A program that writes the
 * column directly makes the index wrong. For several indexes of one column use a
 * {@link columnWriter}.
 *
 * Declares the table `NAME`. For values that were written before, and after a change of `of`, call
 * `index.rebuild(db)`.
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
  checkColumn("exactIndex", column);
  checkOptions("exactIndex", options, indexOptions);
  return new ExactIndex(name, column, options);
}
