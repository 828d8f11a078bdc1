import {
  type AnyTable,
  type Column,
  type ColumnDeclarations,
  int,
  type KeyCodec,
  type KeyPart,
  type KeyPrefix,
  type ScanItem,
  type ScanOptions,
  type Table,
  table,
  text,
  tuple,
} from "../index.js";
import { hashText } from "./hash.js";
import type { KeyOfParts, KeyParts } from "./key-parts.js";
import { checkOptions, wholeOption } from "./options.js";
import { checkView, type View } from "./view.js";

/** The stored key of a row: its spread, then its key. */
export type SpreadRow<K extends readonly unknown[]> = readonly [spread: number, ...key: K];

/** The options of {@link spreadTable}. */
export interface SpreadOptions<P extends KeyParts> {
  /** The parts of the keys, as for `tuple`. Default: one string. */
  readonly key?: P | undefined;
  /**
   * Number of ranges over which rows are spread. From 2 to 1,024. Default: 16. Do not change it
   * once there are rows.
   */
  readonly spreads?: number | undefined;
}

/**
 * A table whose rows are spread over ranges by the hash of their keys. {@link spreadTable} creates
 * it.
 */
export class SpreadTable<C extends ColumnDeclarations, K extends readonly unknown[]> {
  /**
   * The table, for reading, writing and observing rows: `spread.table.COLUMN`, with
   * `spread.row(KEY)`.
   */
  readonly table: Table<C, SpreadRow<K>>;
  readonly spreads: number;
  readonly #key: KeyCodec<K>;

  /** @internal */
  constructor(bound: Table<C, SpreadRow<K>>, spreads: number, key: KeyCodec<K>) {
    this.table = bound;
    this.spreads = spreads;
    this.#key = key;
  }

  /** Returns the stored key of a row. */
  row(...key: K): SpreadRow<K> {
    return [hashText(Buffer.from(this.#key.encode(key)).toString("latin1")) % this.spreads, ...key];
  }

  /** Returns the key of a row from its stored key, such as one that an observer receives. */
  key(row: SpreadRow<K>): K {
    return row.slice(1) as unknown as K;
  }

  /**
   * Yields the rows that have a value in a column, in the order of their keys. It merges one scan
   * of each spread. The options are those of any scan. Keys in the options and in the results have
   * no spread.
   */
  async *scan<V>(
    view: View,
    column: Column<V, SpreadRow<K>>,
    options: ScanOptions<K> = {},
  ): AsyncGenerator<ScanItem<K, V>> {
    checkView("scan", view);
    checkOptions("scan", options, {
      prefix: "any",
      start: "any",
      end: "any",
      after: "any",
      reverse: "any",
      limit: "any",
    });
    const { limit = Number.POSITIVE_INFINITY, reverse = false } = options;
    const bounded = this.#withoutText(options);
    const scans = Array.from({ length: this.spreads }, (_, spread) =>
      this.#scanSpread(view, column, spread, bounded),
    );
    let shown = 0;
    for await (const { key, value } of merge(scans, reverse ? -1 : 1)) {
      if (shown++ === limit) return;
      yield { row: key, value };
    }
  }

  /**
   * Replaces a prefix that is the start of a string, which only keys of one string have, by bounds. In
   * the stored key the string is not the first part, and prefixes have only whole parts there.
   */
  #withoutText(options: ScanOptions<K>): ScanOptions<K> {
    const { prefix } = options;
    if (typeof prefix !== "string") return options;
    const behind = behindText(prefix);
    return {
      ...options,
      prefix: undefined,
      start: this.#first([options.start, [prefix]], -1),
      end: this.#first([options.end, behind === undefined ? undefined : [behind]], 1),
    };
  }

  /** The first bound of those that are given, in ascending (1) or descending (-1) order. */
  #first(bounds: readonly unknown[], direction: 1 | -1): KeyPrefix<K> | undefined {
    const bytes = (bound: unknown) => this.#key.prefix(partsOf(bound));
    const given = bounds.filter((bound) => bound !== undefined);
    return given.sort((a, b) => Buffer.compare(bytes(a), bytes(b)) * direction)[0] as
      | KeyPrefix<K>
      | undefined;
  }

  async *#scanSpread<V>(
    view: View,
    column: Column<V, SpreadRow<K>>,
    spread: number,
    { prefix, start, end, after, reverse, limit }: ScanOptions<K>,
  ): AsyncGenerator<Merged<K, V>> {
    const bound = (leading: unknown) => [spread, ...partsOf(leading)] as unknown as KeyPrefix<SpreadRow<K>>;
    const range: ScanOptions<SpreadRow<K>> = {
      prefix: bound(prefix ?? []),
      start: start === undefined ? undefined : bound(start),
      end: end === undefined ? undefined : bound(end),
      after: after === undefined ? undefined : ([spread, ...partsOf(after)] as unknown as SpreadRow<K>),
      reverse,
      limit,
    };
    for await (const { row, value } of view.scan(column, range)) {
      const key = this.key(row);
      yield { key, value, order: this.#key.encode(key) };
    }
  }
}

interface Merged<K, V> {
  readonly key: K;
  readonly value: V;
  /** Bytes that sort as the key does. */
  readonly order: Uint8Array;
}

/** The parts of a bound. A key of one string also takes the string. */
function partsOf(bound: unknown): readonly unknown[] {
  return typeof bound === "string" ? [bound] : (bound as readonly unknown[]);
}

/** The least string behind all that begin with this one, in the order of UTF-8. Undefined if there is none. */
function behindText(prefix: string): string | undefined {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = last.codePointAt(0)! + 1;
    if (next > 0x10ffff) continue;
    // Surrogates are no characters.
    return points.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
  }
  return undefined;
}

/** Merges several ordered iterables into one. */
async function* merge<K, V>(
  sources: readonly AsyncGenerator<Merged<K, V>>[],
  direction: 1 | -1,
): AsyncGenerator<Merged<K, V>> {
  try {
    const heads = await Promise.all(sources.map((source) => source.next()));
    for (;;) {
      let first = -1;
      for (const [index, head] of heads.entries()) {
        if (head.done) continue;
        const best = first < 0 ? undefined : (heads[first]!.value as Merged<K, V>);
        if (best === undefined || Buffer.compare(head.value.order, best.order) * direction < 0) first = index;
      }
      if (first < 0) return;
      yield heads[first]!.value as Merged<K, V>;
      heads[first] = await sources[first]!.next();
    }
  } finally {
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}

/**
 * Creates a table whose rows are spread over ranges of keys by a hash. In an ordinary table, rows
 * with ascending keys, such as times, are all written at the end, which one machine of a cluster
 * serves. Reading one row costs the same in both tables. A scan in order reads every spread.
 *
 * @example
 * const events = spreadTable("events", { what: text() }, { key: [int(), text()] });
 * tx.set(events.table.what, events.row(1_700_000_000_000, "a"), "started");
 * for await (const { row: [time, id], value } of events.scan(tx, events.table.what)) show(time, id, value);
 */
export function spreadTable<
  C extends ColumnDeclarations,
  const P extends KeyParts = readonly [KeyPart<string>],
>(name: string, columns: C, options: SpreadOptions<P> = {}): SpreadTable<C, KeyOfParts<P>> {
  checkOptions("spreadTable", options, { key: "any", spreads: "any" });
  const parts: KeyParts = options.key ?? [text()];
  const spreads = wholeOption("spreads", options.spreads ?? 16, 2, 1_024);
  const bound: AnyTable = table(name, columns, { key: tuple(int(), ...parts) });
  const key = tuple(...parts) as unknown as KeyCodec<KeyOfParts<P>>;
  return new SpreadTable(bound as Table<C, SpreadRow<KeyOfParts<P>>>, spreads, key);
}
