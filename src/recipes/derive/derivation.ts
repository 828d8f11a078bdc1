import type {
  AnyTable,
  BatchOptions,
  Column,
  Database,
  Environment,
  KeyCodec,
  KeyOf,
  Observer,
  ObserverOptions,
  RowOf,
  Transaction,
} from "../../index.js";
import { keyText } from "../key-text.js";
import { checkOptions, wholeOption } from "../options.js";
import { checkDatabase, checkView, propertyOf, type View } from "../view.js";
import type { AnyRow, OnFailed, Source } from "./source.js";

/** The options that every derivation has. */
export interface DerivationOptions {
  /**
   * Raise it when you change a function of the derivation, or the columns that it reads. `backfill`
   * then derives all rows again. From 1 to 2^31 - 1. Default: 1.
   */
  readonly version?: number | undefined;
  /**
   * Options of the derivation's observers. A run handles up to 100 rows, but that of a join one. Default:
   * those of any observer, but with a `concurrency` of 4 except for joins.
   */
  readonly observer?: Omit<ObserverOptions, "version" | "isolation"> | undefined;
  /** Supplies the unique id of this process. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/** The options of {@link Derivation.backfill}. */
export interface BackfillDerivationOptions {
  /** Stops between two batches when it is aborted. A later call continues from there. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of {@link Derivation.compare}. */
export interface CompareOptions {
  /** Most differences to return. From 1 to 1,000,000. Default: 1,000. */
  readonly limit?: number | undefined;
  /** Ends the comparison with its reason when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of rows compared so far. */
  readonly onProgress?: ((rows: number) => void) | undefined;
}

/** A row of a derived table, from its key and its columns. */
export interface DerivedRow<T extends AnyTable = AnyTable> {
  readonly row: KeyOf<T>;
  readonly value: RowOf<T>;
}

/** A row that a derived table has wrong. {@link Derivation.compare} finds it. */
export interface DerivedDifference {
  /** The name of the derivation. */
  readonly derivation: string;
  /** The key of the row, as text. */
  readonly row: string;
  /**
   * Why the row cannot be derived, if it cannot. Then `expected` and `actual` are `undefined`. If a
   * function of the derivation threw it for a row of a source, `row` is that row. The others are compared
   * without it.
   */
  readonly error?: unknown;
  /** The row as the sources say. `undefined` if there must be none. */
  readonly expected: AnyRow | undefined;
  /** The row as it is stored. `undefined` if there is none. */
  readonly actual: AnyRow | undefined;
}

/** What a kind of derivation is made of. */
export interface DerivationParts<T extends AnyTable> {
  readonly name: string;
  readonly version: number;
  readonly table: T;
  /** The derived columns of the table. */
  readonly columns: readonly Column<unknown, unknown>[];
  readonly tables: readonly AnyTable[];
  /** The observers from which everything can be derived again. */
  readonly sources: readonly Observer[];
  readonly others: readonly Observer[];
  /** The source whose rows have the keys of {@link kept}. */
  readonly source: Source;
  /** The table with a row for each row of the source from which something was derived. */
  readonly kept: AnyTable;
  /** Derives rows of the source again, as its observers do. */
  readonly update: (tx: Transaction, rows: readonly unknown[]) => Promise<void>;
  /** Holds the version that was last backfilled. */
  readonly backfilled: Column<number, string>;
  /** Derives every row from a view of the sources, without the stored parts of the derivation. */
  readonly recompute: (
    view: View,
    onFailed: OnFailed,
  ) => AsyncGenerator<{ readonly row: unknown; readonly value: AnyRow }, void, undefined>;
}

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
const brand = Symbol.for("percolatordb.derivation");
const backfilledRow = "version";
/** How many kept rows a backfill looks at in a transaction. */
const keptAtOnce = 100;

/** Whether the value is a derivation, of this or another copy of the package. @internal */
export function isDerivation(value: unknown): value is AnyDerivation {
  return typeof value === "object" && value !== null && brand in value;
}

/** A derivation without its types, as commands use it. */
export type AnyDerivation = Pick<
  Derivation<AnyTable>,
  "name" | "version" | "tables" | "observers" | "backfill" | "compare"
>;

/**
 * A derived table: a table whose rows observers compute from the rows of other tables. `derive`
 * creates it.
 */
export class Derivation<T extends AnyTable> {
  readonly name: string;
  readonly version: number;
  /**
   * The derived table: an ordinary table to read, scan, observe and derive from. Only the
   * derivation may write it.
   */
  readonly table: T;
  /** The derived table, and the tables that the derivation needs. List them in `tables` of `open`. */
  readonly tables: readonly AnyTable[];
  /** Keep the table up to date. List them in `observers` of `open`. */
  readonly observers: readonly Observer[];
  readonly #parts: DerivationParts<T>;

  /** @internal */
  constructor(parts: DerivationParts<T>) {
    this.name = parts.name;
    this.version = parts.version;
    this.table = parts.table;
    this.tables = parts.tables;
    this.observers = [...parts.sources, ...parts.others];
    this.#parts = parts;
  }

  get [brand](): true {
    return true;
  }

  /**
   * Makes the derivation due on all rows that exist, if that was not done for this version yet.
   * Workers then derive them. Resolves to whether it did so. `percolator worker` calls it for the
   * derivations of its module. If a call is interrupted, the next one continues it.
   */
  async backfill(db: Database, options: BackfillDerivationOptions = {}): Promise<boolean> {
    checkDatabase("backfill", db);
    checkOptions("backfill", options, { signal: "any" });
    const { signal } = options;
    const { backfilled, sources, version } = this.#parts;
    const done = await db.transact((tx) => tx.get(backfilled, backfilledRow), { signal });
    if (done !== undefined && done >= version) return false;
    for (const each of sources) await db.backfill(each, { signal });
    await this.#updateGone(db, signal);
    await db.transact((tx) => tx.set(backfilled, backfilledRow, version), { signal });
    return true;
  }

  /**
   * Derives the kept rows again that the source has no longer, such as those that have only a column that
   * an earlier version read. No observer is due on them, since they have no cell that one watches.
   */
  async #updateGone(db: Database, signal: AbortSignal | undefined): Promise<void> {
    const { source, kept, update } = this.#parts;
    let after: unknown;
    for (;;) {
      const rows: unknown[] = [];
      await using snapshot = await db.snapshot({ signal });
      for await (const { row } of snapshot.scan(kept, { after, limit: keptAtOnce })) rows.push(row);
      await db.transact(
        async (tx) => {
          const read = await Promise.all(rows.map((row) => source.read(tx, row)));
          await update(
            tx,
            rows.filter((_, index) => read[index] === undefined),
          );
        },
        { isolation: "serializable", label: this.name, signal },
      );
      if (rows.length < keptAtOnce) return;
      after = rows.at(-1);
    }
  }

  /**
   * The batch twin: yields the rows that the table should have, computed from the sources of a
   * view. It reads none of what the observers have written, and holds the groups in memory.
   */
  async *recompute(view: View): AsyncGenerator<DerivedRow<T>, void, undefined> {
    checkView("recompute", view);
    const fail: OnFailed = (_row, error) => {
      throw error;
    };
    for await (const row of this.#parts.recompute(view, fail)) yield row as unknown as DerivedRow<T>;
  }

  /**
   * Compares the table with {@link recompute}, and returns the rows that differ, and those that cannot
   * be derived. Changes that wait for an observer show as differences, so drain the database first.
   * Holds the keys of the table in memory.
   */
  async compare(view: View, options: CompareOptions = {}): Promise<readonly DerivedDifference[]> {
    checkView("compare", view);
    checkOptions("compare", options, { limit: "any", signal: "any", onProgress: "function if given" });
    const { signal, onProgress } = options;
    const limit = wholeOption("limit", options.limit ?? 1_000, 1, 1_000_000);
    const { name, table, columns } = this.#parts;
    const keys = keyText(columns[0]!.table.key as KeyCodec<unknown>);
    const differences: DerivedDifference[] = [];
    const found = new Set<string>();
    const onFailed: OnFailed = (row, error, isDerived) => {
      if (isDerived) found.add(row);
      if (differences.length === limit) return;
      differences.push({ derivation: name, row, error, expected: undefined, actual: undefined });
    };
    for await (const { row, value } of this.#parts.recompute(view, onFailed)) {
      signal?.throwIfAborted();
      if (differences.length >= limit) return differences;
      const text = keys.format(row);
      found.add(text);
      await onProgress?.(found.size);
      const actual = (await view.row(table, row as never)) as AnyRow | undefined;
      try {
        if (isSame(columns, value, actual)) continue;
      } catch (error) {
        onFailed(text, error, true);
        continue;
      }
      differences.push({ derivation: name, row: text, expected: value, actual });
    }
    for await (const { row, value } of view.scan(table as AnyTable)) {
      signal?.throwIfAborted();
      if (differences.length >= limit) return differences;
      const text = keys.format(row);
      if (found.has(text)) continue;
      differences.push({ derivation: name, row: text, expected: undefined, actual: value as AnyRow });
    }
    return differences;
  }
}

/** Throws if a column's codec refuses the expected value. */
function isSame(
  columns: readonly Column<unknown, unknown>[],
  expected: AnyRow,
  actual: AnyRow | undefined,
): boolean {
  return columns.every((column) => {
    const property = propertyOf(column);
    const [first, second] = [expected, actual].map((row) => {
      const value = row?.[property];
      return value === undefined ? undefined : column.codec.encode(value);
    });
    if (first === undefined || second === undefined) return first === second;
    return Buffer.compare(first, second) === 0;
  });
}

/** Returns the options of the observers of a derivation. */
export function observerOptions({ version, observer }: DerivationOptions): ObserverOptions {
  return { ...observer, version };
}

/** While the commit of one batch is being stored, others are computed. */
const concurrentBatches = 4;

/** The same for observers whose runs handle several changes. */
export function batchOptions(options: DerivationOptions): BatchOptions {
  const { concurrency = concurrentBatches, ...others } = observerOptions(options);
  return { ...others, concurrency };
}
