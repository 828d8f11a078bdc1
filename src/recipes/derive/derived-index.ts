import {
  type AnyTable,
  boolean,
  type Column,
  InvalidArgumentError,
  InvalidValueError,
  int,
  json,
  type KeyCodec,
  type KeyOf,
  type KeyPrefix,
  type Table,
  type Transaction,
  table,
  tuple,
} from "../../index.js";
import type { KeyOfParts, KeyParts } from "../key-parts.js";
import { keyText } from "../key-text.js";
import type { FindOptions } from "../lookup/secondary-index.js";
import { checkOptions, type OptionKind } from "../options.js";
import { type PartsOfRow, type RowParts, rowParts } from "../row-parts.js";
import { checkView, columnOf, type View } from "../view.js";
import { batchOptions, Derivation, type DerivationOptions, type DerivationParts } from "./derivation.js";
import { type AnyRow, type ColumnNames, type OnFailed, reasonOf, Source, type SourceRow } from "./source.js";

/** The options of a derivation that finds rows by terms. `index` must be pure. */
export interface DerivedIndexOptions<T extends AnyTable, P extends KeyParts, N extends ColumnNames<T>>
  extends DerivationOptions {
  /** The table whose rows are found. It may be a derived table. */
  readonly from: T;
  /**
   * The columns that `index` reads. Changes of other columns then cost nothing. A row exists if one
   * of them has a value. Default: all.
   */
  readonly reads?: readonly N[] | undefined;
  /** The parts of a term, as for `tuple`. */
  readonly key: P;
  /** Returns the terms by which a row is found: none, one or several. */
  readonly index: (row: SourceRow<T, N>, key: KeyOf<T>) => Iterable<KeyOfParts<P>>;
}

/** The key of an index's entry: the parts of the term, and then those of the source's row key. */
export type IndexRow<P extends KeyParts, K = string> = readonly [
  ...term: KeyOfParts<P>,
  ...row: PartsOfRow<K>,
];

/** The derived table of an index. */
export type IndexTable<P extends KeyParts, K = string> = Table<
  { readonly entry: ReturnType<typeof boolean> },
  IndexRow<P, K>
>;

/** {@link DerivedIndexOptions} without its types. */
export interface AnyIndexOptions extends DerivationOptions {
  readonly from: AnyTable;
  readonly reads?: readonly string[] | undefined;
  readonly key: KeyParts;
  readonly index: (row: AnyRow, key: unknown) => Iterable<readonly unknown[]>;
}

const optionKinds: Readonly<Record<keyof AnyIndexOptions, OptionKind>> = {
  from: "any",
  reads: "any",
  key: "any",
  index: "function",
  version: "any",
  observer: "any",
  environment: "any",
};

/** An index over several columns of a table. `derive` creates it. */
export class DerivedIndex<T extends AnyTable, P extends KeyParts> extends Derivation<
  IndexTable<P, KeyOf<T>>
> {
  readonly #entries: Column<boolean, readonly unknown[]>;
  readonly #termLength: number;
  readonly #rowKey: RowParts<KeyOf<T>>;

  /** @internal */
  constructor(parts: DerivationParts<AnyTable>, termLength: number, rowKey: RowParts<unknown>) {
    super(parts as unknown as DerivationParts<IndexTable<P, KeyOf<T>>>);
    this.#entries = columnOf(parts.table, "entry");
    this.#termLength = termLength;
    this.#rowKey = rowKey as RowParts<KeyOf<T>>;
  }

  /**
   * Yields the keys of the rows that have a term, in order. If only the first parts of a term are
   * given, the order is that of the terms, and then of the keys. For a range of terms, or to see them,
   * scan {@link table}.
   *
   * @throws InvalidArgumentError if `after` is given with only the first parts of a term.
   */
  async *find(
    view: View,
    term: KeyPrefix<readonly [...KeyOfParts<P>, unknown]>,
    options: FindOptions<KeyOf<T>> = {},
  ): AsyncGenerator<KeyOf<T>, void, undefined> {
    checkView("find", view);
    checkOptions("find", options, { after: "any", reverse: "any", limit: "any" });
    const { reverse, limit } = options;
    const given = term as readonly unknown[];
    if (options.after !== undefined && given.length !== this.#termLength) {
      throw new InvalidArgumentError(
        `\`after\` of find needs the whole term, of ${this.#termLength} parts, not ${given.length}. Or scan the index's table with ` +
          "this `prefix`, and `after`: the last key of the page before.",
      );
    }
    const after = options.after === undefined ? undefined : [...given, ...this.#rowKey.of(options.after)];
    for await (const { row } of view.scan(this.#entries, { prefix: term as never, after, reverse, limit })) {
      yield this.#rowKey.keyOf(row.slice(this.#termLength));
    }
  }
}

/** The terms of a row when its observers last ran. */
type StoredTerms = readonly string[];

/** Creates an index. Declares its tables and observers. */
export function derivedIndex<T extends AnyTable, P extends KeyParts>(
  name: string,
  options: AnyIndexOptions,
): DerivedIndex<T, P> {
  checkOptions("derive", options, optionKinds);
  const source = new Source(name, "from", options.from, options.reads);
  const term = tuple(...options.key) as KeyCodec<readonly unknown[]>;
  const terms = keyText(term);
  const rowKey = rowParts(source.key);
  const key = tuple(...options.key, ...rowKey.codecs) as KeyCodec<readonly unknown[]>;
  const derived = table(name, { entry: boolean() }, { key });
  const rows = table(`${name}_rows`, { terms: json<StoredTerms>() }, { key: source.key });
  const state = table(`${name}_state`, { version: int() });
  const entries: Column<boolean, readonly unknown[]> = columnOf(derived, "entry");
  const stored: Column<StoredTerms, unknown> = columnOf(rows, "terms");

  const termsOf = (value: AnyRow | undefined, row: unknown): ReadonlySet<string> => {
    if (value === undefined) return new Set();
    const found = options.index(value, source.copyOf(row));
    try {
      return new Set([...found].map((each) => terms.format(each)));
    } catch (cause) {
      throw new InvalidValueError(
        `${source.at(row)}: \`index\` must return an iterable of terms that fit \`key\`: ${reasonOf(cause)}`,
        {
          cause,
        },
      );
    }
  };

  const entryKey = (each: string, row: unknown): readonly unknown[] => [
    ...terms.parse(each),
    ...rowKey.of(row),
  ];

  const update = async (tx: Transaction, row: unknown) => {
    const [value, known] = await Promise.all([source.read(tx, row), tx.get(stored, row)]);
    const before = new Set(known);
    const after = termsOf(value, row);
    for (const each of after) {
      if (!before.has(each)) tx.set(entries, entryKey(each, row), true);
    }
    for (const each of before) {
      if (!after.has(each)) tx.delete(entries, entryKey(each, row));
    }
    // Written even if it is unchanged, so that two runs of one row conflict.
    if (after.size === 0) tx.delete(stored, row);
    else tx.set(stored, row, [...after]);
  };

  const updateAll = async (tx: Transaction, rows: readonly unknown[]) => {
    await Promise.all(rows.map((row) => update(tx, row)));
  };

  async function* recompute(view: View, onFailed: OnFailed) {
    for await (const { row, value } of source.scan(view)) {
      for (const each of source.attempt(row, onFailed, () => termsOf(value, row)) ?? []) {
        yield { row: entryKey(each, row) as unknown, value: { entry: true } as AnyRow };
      }
    }
  }

  return new DerivedIndex(
    {
      name,
      version: options.version ?? 1,
      table: derived as AnyTable,
      columns: [entries as Column<unknown, unknown>],
      tables: [derived, rows, state],
      sources: source.batchObservers(name, updateAll, batchOptions(options)),
      others: [],
      source,
      kept: rows,
      update: updateAll,
      backfilled: state.version,
      recompute,
    },
    options.key.length,
    rowKey,
  );
}
