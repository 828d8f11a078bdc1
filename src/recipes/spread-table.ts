import {
  type AnyTable,
  type Column,
  type ColumnDeclarations,
  int,
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
import { checkOptions, wholeOption } from "./options.js";
import type { View } from "./view.js";

type Parts = readonly [KeyPart<unknown>, ...KeyPart<unknown>[]];

type KeyOfParts<P extends Parts> = { readonly [I in keyof P]: P[I] extends KeyPart<infer V> ? V : never };

/** Where a row really stands: its spread, then its key. */
export type SpreadRow<K extends readonly unknown[]> = readonly [spread: number, ...key: K];

/** What {@link spreadTable} is told of a table. */
export interface SpreadOptions<P extends Parts> {
  /** The parts of the keys, as of `tuple`. Default: one string. */
  readonly key?: P | undefined;
  /** Over how many ranges rows are spread. From 2 to 1,024; default: 16. Fixed once there are rows. */
  readonly spreads?: number | undefined;
}

/** A table whose rows are spread over ranges by the hash of their keys. Made by {@link spreadTable}. */
export class SpreadTable<C extends ColumnDeclarations, K extends readonly unknown[]> {
  /** The table, for reading, writing and observing rows: `spread.table.COLUMN`, with `spread.row(KEY)`. */
  readonly table: Table<C, SpreadRow<K>>;
  readonly spreads: number;
  readonly #encode: (key: K) => Uint8Array;

  /** @internal */
  constructor(bound: Table<C, SpreadRow<K>>, spreads: number, encode: (key: K) => Uint8Array) {
    this.table = bound;
    this.spreads = spreads;
    this.#encode = encode;
  }

  /** Where the row of a key stands. */
  row(...key: K): SpreadRow<K> {
    return [hashText(Buffer.from(this.#encode(key)).toString("latin1")) % this.spreads, ...key];
  }

  /** The key of a row, as an observer is told it for instance. */
  key(row: SpreadRow<K>): K {
    return row.slice(1) as unknown as K;
  }

  /**
   * The rows in which a column has a value, in the order of their keys: a scan of each spread, merged. The options are those of
   * any scan, for keys.
   */
  async *scan<V>(
    view: View,
    column: Column<V, SpreadRow<K>>,
    options: ScanOptions<K> = {},
  ): AsyncGenerator<ScanItem<K, V>> {
    checkOptions("scan", options, { prefix: "any", start: "any", end: "any", reverse: "any", limit: "any" });
    const { limit = Number.POSITIVE_INFINITY, reverse = false } = options;
    const scans = Array.from({ length: this.spreads }, (_, spread) =>
      this.#scanSpread(view, column, spread, options),
    );
    let shown = 0;
    for await (const { key, value } of merge(scans, reverse ? -1 : 1)) {
      if (shown++ === limit) return;
      yield { row: key, value };
    }
  }

  async *#scanSpread<V>(
    view: View,
    column: Column<V, SpreadRow<K>>,
    spread: number,
    { prefix, start, end, reverse, limit }: ScanOptions<K>,
  ): AsyncGenerator<Merged<K, V>> {
    const range: ScanOptions<SpreadRow<K>> = {
      prefix: [spread, ...((prefix ?? []) as readonly unknown[])] as unknown as KeyPrefix<SpreadRow<K>>,
      start: start === undefined ? undefined : [spread, ...start],
      end: end === undefined ? undefined : [spread, ...end],
      reverse,
      limit,
    };
    for await (const { row, value } of view.scan(column, range)) {
      const key = this.key(row);
      yield { key, value, order: this.#encode(key) };
    }
  }
}

interface Merged<K, V> {
  readonly key: K;
  readonly value: V;
  /** Sorts as the key does. */
  readonly order: Uint8Array;
}

/** What some ordered iterables give, in order. */
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
 * A table whose rows are spread over ranges of keys by a hash. Rows with ascending keys, such as times, are otherwise all written at
 * the end of the table, which is one machine of a cluster. Reading a row costs what it did; a scan in order reads every spread.
 *
 * @example
 * const events = spreadTable("events", { what: text() }, { key: [int(), text()] });
 * tx.set(events.table.what, events.row(1_700_000_000_000, "a"), "started");
 * for await (const { row: [time, id], value } of events.scan(tx, events.table.what)) show(time, id, value);
 */
export function spreadTable<C extends ColumnDeclarations, const P extends Parts = readonly [KeyPart<string>]>(
  name: string,
  columns: C,
  options: SpreadOptions<P> = {},
): SpreadTable<C, KeyOfParts<P>> {
  checkOptions("spreadTable", options, { key: "any", spreads: "any" });
  const parts: Parts = options.key ?? [text()];
  const spreads = wholeOption("spreads", options.spreads ?? 16, 2, 1_024);
  const bound: AnyTable = table(name, columns, { key: tuple(int(), ...parts) });
  const key = tuple(...parts);
  return new SpreadTable(bound as Table<C, SpreadRow<KeyOfParts<P>>>, spreads, (each) => key.encode(each));
}
