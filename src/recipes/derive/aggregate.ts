import {
  type AnyTable,
  bytes,
  type Codec,
  type Column,
  float,
  InvalidArgumentError,
  InvalidValueError,
  int,
  json,
  type KeyCodec,
  type KeyOf,
  observer,
  signal,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import type { KeyOfParts, KeyParts } from "../key-parts.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions, type OptionKind, wholeOption } from "../options.js";
import { columnOf, type View } from "../view.js";
import { type DerivationOptions, type DerivationParts, observerOptions } from "./derivation.js";
import {
  addPartial,
  emptySum,
  formatPartial,
  isEmptySum,
  type PartialSum,
  parsePartial,
  partialOf,
  sumOf,
} from "./partial-sum.js";
import { compareRanked, compareText, type Rankable, rankBytes } from "./ranked.js";
import { setRow } from "./set-row.js";
import { Slots } from "./slots.js";
import { type AnyRow, type ColumnNames, Source, type SourceRow } from "./source.js";

/** One of the greatest values of a group, as the column `top` lists them. */
export interface TopEntry<V extends Rankable = Rankable> {
  /** The value. */
  readonly by: V;
  /** The key of the source's row, as text: a string key unchanged, a composite key as JSON. */
  readonly row: string;
}

/** What `top` of {@link AggregateOptions} asks for. */
export interface TopOptions<T extends AnyTable, N extends ColumnNames<T>, V> {
  /** How many rows to list. From 1 to 1,000. */
  readonly n: number;
  /** Returns the value by which rows are ranked, or `undefined` to leave the row out. */
  readonly by: (row: SourceRow<T, N>, key: KeyOf<T>) => V;
}

/** The key of a row's group. If a part is `undefined`, the row belongs to no group. */
export type GroupKey<P extends KeyParts> =
  | { readonly [I in keyof KeyOfParts<P>]: KeyOfParts<P>[I] | undefined }
  | undefined;

/**
 * The options of a derivation that groups rows and aggregates each group. Its functions must be
 * pure: they always return the same result for the same row.
 */
export interface AggregateOptions<
  T extends AnyTable,
  P extends KeyParts,
  N extends ColumnNames<T>,
  Count extends boolean,
  Sum extends number | undefined,
  Min extends Rankable | undefined,
  Max extends Rankable | undefined,
  Top extends Rankable | undefined,
> extends DerivationOptions {
  /** The table whose rows are aggregated. It may be a derived table. */
  readonly from: T;
  /**
   * The columns that the functions read. Changes of other columns then cost nothing. A row exists
   * if one of them has a value. Default: all.
   */
  readonly reads?: readonly N[] | undefined;
  /** The parts of the groups' keys, as for `tuple`. Required with `groupBy`. */
  readonly key?: P | undefined;
  /**
   * Returns the key of a row's group, or `undefined` to leave the row out. Default: all rows are in
   * one group, with the key `"all"`.
   */
  readonly groupBy?: ((row: SourceRow<T, N>, key: KeyOf<T>) => GroupKey<P>) | undefined;
  /** Whether to count the rows of each group, in the column `count`. Default: false. */
  readonly count?: Count | undefined;
  /**
   * Returns what a row adds to its group's sum, in the column `sum`. `undefined` adds nothing. Sums
   * of integers are exact, and others are rounded once. Default: no sum.
   */
  readonly sum?: ((row: SourceRow<T, N>, key: KeyOf<T>) => Sum) | undefined;
  /** Returns the value whose least is in the column `min`. Default: none. */
  readonly min?: ((row: SourceRow<T, N>, key: KeyOf<T>) => Min) | undefined;
  /** Returns the value whose greatest is in the column `max`. Default: none. */
  readonly max?: ((row: SourceRow<T, N>, key: KeyOf<T>) => Max) | undefined;
  /**
   * Lists the rows with the greatest values in the column `top`, the greatest first. Of equal
   * values, the row with the greater key comes first. Default: none.
   */
  readonly top?: TopOptions<T, N, Top> | undefined;
  /**
   * Number of partial sums of a group, which is the most runs that change one group at the same
   * time without conflicts. From 1 to 1,024. Default: 256. It may be changed.
   */
  readonly shards?: number | undefined;
  readonly index?: undefined;
  readonly join?: undefined;
  readonly leftJoin?: undefined;
}

interface EveryColumn<Min, Max, Top> {
  readonly count: Codec<number>;
  readonly sum: Codec<number>;
  readonly min: Codec<Exclude<Min, undefined>>;
  readonly max: Codec<Exclude<Max, undefined>>;
  readonly top: Codec<readonly TopEntry<Extract<Top, Rankable>>[]>;
}

/** The columns of a derived table of groups: those that were asked for. */
export type AggregateColumns<Count, Sum, Min, Max, Top> = Pick<
  EveryColumn<Min, Max, Top>,
  | (true extends Count ? "count" : never)
  | ([Sum] extends [never] ? never : "sum")
  | ([Min] extends [never] ? never : "min")
  | ([Max] extends [never] ? never : "max")
  | ([Top] extends [never] ? never : "top")
>;

/** The type of the groups' keys. */
export type GroupRow<P extends KeyParts> = [P] extends [never] ? string : KeyOfParts<P>;

type RowFunction = (row: AnyRow, key: unknown) => unknown;

/** {@link AggregateOptions} without its types. */
export interface AnyAggregateOptions extends DerivationOptions {
  readonly from: AnyTable;
  readonly reads?: readonly string[] | undefined;
  readonly key?: KeyParts | undefined;
  readonly groupBy?: RowFunction | undefined;
  readonly count?: boolean | undefined;
  readonly sum?: RowFunction | undefined;
  readonly min?: RowFunction | undefined;
  readonly max?: RowFunction | undefined;
  readonly top?: { readonly n: number; readonly by: RowFunction } | undefined;
  readonly shards?: number | undefined;
}

const optionKinds: Readonly<Record<keyof AnyAggregateOptions, OptionKind>> = {
  from: "any",
  reads: "any",
  key: "any",
  groupBy: "function if given",
  count: "any",
  sum: "function if given",
  min: "function if given",
  max: "function if given",
  top: "any",
  shards: "any",
  version: "any",
  observer: "any",
  environment: "any",
};

/** The aggregates that need the values of a group in order. */
const rankings = ["min", "max", "top"] as const;
type Ranking = (typeof rankings)[number];

/** What a row contributes to its group. The derivation stores it, so that it can be taken back. */
interface Contribution extends Partial<Readonly<Record<Ranking, Rankable>>> {
  /** The key of the group, as text. */
  readonly group: string;
  readonly sum?: number;
}

interface StoredContribution extends Contribution {
  /** The version of the derivation that made the contribution. */
  readonly version: number;
}

type RankKey = readonly [group: string, ranking: string, value: Uint8Array, row: string];

/** The only group of a derivation without `groupBy`. */
const onlyGroup = "all";

/** Returns the parts of a derivation that aggregates. Declares tables and observers of its name. */
export function aggregate(name: string, options: AnyAggregateOptions): DerivationParts<AnyTable> {
  checkOptions("derive", options, optionKinds);
  if (options.top !== undefined) checkOptions("top", options.top, { n: "any", by: "function" });
  if ((options.groupBy === undefined) !== (options.key === undefined)) {
    throw new InvalidArgumentError(
      `Derivation "${name}" needs both \`groupBy\` and \`key\`, or neither: \`key: [text()]\` declares the parts of the keys that ` +
        "`groupBy` returns.",
    );
  }
  const { count, sum, min, max, top } = options;
  if (count !== undefined && typeof count !== "boolean") {
    throw new InvalidArgumentError(
      `Derivation "${name}": \`count\` must be true or false, not ${typeof count}.`,
    );
  }
  if (count === true || [sum, min, max, top].some((each) => each !== undefined)) {
    return new Aggregate(name, options).parts;
  }
  throw new InvalidArgumentError(
    `Derivation "${name}" asks for nothing: give \`count\`, \`sum\`, \`min\`, \`max\` or \`top\`, or \`index\`, \`join\` or \`leftJoin\`.`,
  );
}

/**
 * Keeps aggregates of groups. A row's observers compare what the row contributes with what it
 * contributed at their last run. They change a partial sum of the group and the group's ordered
 * values by the difference, and notify the group. The group's observer then combines the partial
 * sums. So no two rows write the same cell, unless all partial sums of the group are in use.
 */
class Aggregate {
  readonly parts: DerivationParts<AnyTable>;
  readonly #name: string;
  readonly #options: AnyAggregateOptions;
  readonly #version: number;
  readonly #source: Source;
  readonly #groups: KeyText<unknown>;
  readonly #columns: readonly Column<unknown, unknown>[];
  readonly #slots: Slots;
  readonly #rows: Column<string, unknown>;
  readonly #sums: Column<string, readonly [group: string, slot: number]>;
  readonly #ranks: Column<Rankable, RankKey>;
  readonly #state;

  constructor(name: string, options: AnyAggregateOptions) {
    this.#name = name;
    this.#options = options;
    this.#version = options.version ?? 1;
    this.#source = new Source(name, "from", options.from, options.reads);
    const key = options.key === undefined ? undefined : (tuple(...options.key) as KeyCodec<unknown>);
    this.#groups = keyText(key);
    const derived: AnyTable = table(name, columnsOf(options), { key });
    this.#columns = Object.values(derived as unknown as Record<string, Column<unknown, unknown>>);
    // Texts of JSON, because they are read and written for every change, and a JSON column checks
    // every value.
    const rows = table(`${name}_rows`, { contribution: text() }, { key: this.#source.key });
    const sums = table(`${name}_sums`, { sum: text() }, { key: tuple(text(), int()) });
    const ranks = table(
      `${name}_ranks`,
      { value: json<Rankable>() },
      { key: tuple(text(), text(), bytes(), text()) },
    );
    this.#state = table(`${name}_state`, { combined: int(), due: signal(), version: int() });
    this.#rows = columnOf(rows, "contribution");
    this.#sums = columnOf(sums, "sum");
    this.#ranks = columnOf(ranks, "value");
    this.#slots = new Slots(wholeOption("shards", options.shards ?? 256, 1, 1_024), options.environment);
    const observed = observerOptions(options);
    this.parts = {
      name,
      version: this.#version,
      table: derived,
      columns: this.#columns,
      tables: [derived, rows, sums, this.#state, ...(this.#rankings.length === 0 ? [] : [ranks])],
      sources: this.#source.observers(name, (tx, row) => this.#contribute(tx, row), observed),
      others: [observer(name, this.#state.due, (tx, { row }) => this.#combine(tx, row), observed)],
      backfilled: this.#state.version,
      recompute: (view) => this.#recompute(view),
    };
  }

  get #rankings(): readonly Ranking[] {
    return rankings.filter((ranking) => this.#options[ranking] !== undefined);
  }

  /** Replaces the contribution of a row by its present one. */
  async #contribute(tx: Transaction, row: unknown): Promise<void> {
    const [value, stored] = await Promise.all([this.#source.read(tx, row), tx.get(this.#rows, row)]);
    const before = stored === undefined ? undefined : (JSON.parse(stored) as StoredContribution);
    const after = value === undefined ? undefined : this.#contributionOf(value, row);
    const isCurrent = before?.version === this.#version;
    const isMoved = before?.group !== after?.group;
    if (isMoved || before?.sum !== after?.sum) await this.#addDifference(tx, before, after);
    let isRanked = false;
    for (const ranking of rankings) {
      if (this.#rank(tx, this.#source.keys.format(row), ranking, before, after)) isRanked = true;
    }
    if (isMoved || isRanked || before?.sum !== after?.sum || !isCurrent) {
      for (const group of new Set([before?.group, after?.group])) {
        if (group !== undefined) tx.notify(this.#state.due, group);
      }
    }
    // Written even if it is unchanged. Two runs of one row, for two of its columns, then conflict.
    // The later one therefore begins after the other's commit, and sees what both columns hold.
    if (after === undefined) tx.delete(this.#rows, row);
    else tx.set(this.#rows, row, JSON.stringify({ ...after, version: this.#version }));
  }

  /** Adds the difference of two contributions to the partial sums of their groups. */
  async #addDifference(
    tx: Transaction,
    before: Contribution | undefined,
    after: Contribution | undefined,
  ): Promise<void> {
    const taken = before === undefined ? emptySum : partialOf(before.sum, -1);
    const given = after === undefined ? emptySum : partialOf(after.sum, 1);
    if (before !== undefined && before.group === after?.group) {
      await this.#addTo(tx, before.group, addPartial(taken, given));
      return;
    }
    if (before !== undefined) await this.#addTo(tx, before.group, taken);
    if (after !== undefined) await this.#addTo(tx, after.group, given);
  }

  async #addTo(tx: Transaction, group: string, difference: PartialSum): Promise<void> {
    const key = [group, this.#slots.take(tx, group)] as const;
    const stored = await tx.get(this.#sums, key);
    const sum = addPartial(stored === undefined ? emptySum : parsePartial(stored), difference);
    if (isEmptySum(sum)) tx.delete(this.#sums, key);
    else tx.set(this.#sums, key, formatPartial(sum));
  }

  /** Moves a row among the ordered values of its group. Returns whether it moved. */
  #rank(
    tx: Transaction,
    row: string,
    ranking: Ranking,
    before: Contribution | undefined,
    after: Contribution | undefined,
  ): boolean {
    const [old, now] = [before?.[ranking], after?.[ranking]];
    if (old === now && before?.group === after?.group) return false;
    if (old !== undefined) tx.delete(this.#ranks, [before!.group, ranking, rankBytes(old), row]);
    if (now !== undefined) tx.set(this.#ranks, [after!.group, ranking, rankBytes(now), row], now);
    return old !== undefined || now !== undefined;
  }

  /** Writes the row of a group from its partial sums and its ordered values. */
  async #combine(tx: Transaction, group: string): Promise<void> {
    let total = emptySum;
    const slots: number[] = [];
    for await (const { row, value } of tx.scan(this.#sums, { prefix: [group] })) {
      total = addPartial(total, parsePartial(value));
      slots.push(row[1]);
    }
    const isEmpty = total.rows === 0;
    const values = isEmpty ? {} : await this.#valuesOf(tx, group, total);
    await setRow(tx, this.#columns, this.#groups.parse(group), values);
    // The partial sums of a group without rows cancel each other out.
    if (isEmpty) for (const slot of slots) tx.delete(this.#sums, [group, slot]);
    // Written even if the group is unchanged. Two runs of one group then conflict, so that the
    // later one sees all that the other saw.
    if (isEmpty) tx.delete(this.#state.combined, group);
    else tx.set(this.#state.combined, group, total.rows);
  }

  async #valuesOf(tx: Transaction, group: string, total: PartialSum): Promise<AnyRow> {
    const values: Record<string, unknown> = this.#summed(group, total);
    for (const ranking of this.#rankings) {
      const limit = ranking === "top" ? this.#options.top!.n : 1;
      const entries: TopEntry[] = [];
      const scan = tx.scan(this.#ranks, { prefix: [group, ranking], reverse: ranking !== "min", limit });
      for await (const { row, value } of scan) entries.push({ by: value, row: row[3] });
      if (entries.length > 0) values[ranking] = ranking === "top" ? entries : entries[0]!.by;
    }
    return values;
  }

  #summed(group: string, total: PartialSum): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    if (this.#options.count === true) values.count = total.rows;
    if (this.#options.sum !== undefined) values.sum = sumOf(this.#name, group, total);
    return values;
  }

  #contributionOf(value: AnyRow, row: unknown): Contribution | undefined {
    const { groupBy, sum } = this.#options;
    const group = groupBy === undefined ? onlyGroup : this.#groupOf(groupBy(value, row), row);
    if (group === undefined) return undefined;
    const added = sum?.(value, row);
    const ranked: Partial<Record<Ranking, Rankable>> = {};
    for (const ranking of this.#rankings) {
      const of = ranking === "top" ? this.#options.top!.by : this.#options[ranking]!;
      const found = of(value, row);
      if (found !== undefined) ranked[ranking] = this.#rankable(ranking, found, row);
    }
    return { group, ...(added === undefined ? {} : { sum: this.#number("sum", added, row) }), ...ranked };
  }

  #groupOf(key: unknown, row: unknown): string | undefined {
    if (key === undefined || (Array.isArray(key) && key.includes(undefined))) return undefined;
    try {
      return this.#groups.format(key);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new InvalidValueError(
        `${this.#at(row)}: \`groupBy\` returned a key that does not fit \`key\`: ${reason}`,
        {
          cause,
        },
      );
    }
  }

  #rankable(option: string, value: unknown, row: unknown): Rankable {
    return typeof value === "string" ? value : this.#number(option, value, row);
  }

  #number(option: string, value: unknown, row: unknown): number {
    if (typeof value === "number" && Number.isFinite(value)) return value === 0 ? 0 : value;
    const wanted = option === "sum" ? "a finite number" : "a finite number or a string";
    const shown = typeof value === "number" ? String(value) : value === null ? "null" : typeof value;
    throw new InvalidValueError(
      `${this.#at(row)}: \`${option}\` must return ${wanted}, or undefined to leave the row out, not ${shown}.`,
    );
  }

  #at(row: unknown): string {
    const text = this.#source.keys.format(row).slice(0, 100);
    return `Derivation "${this.#name}", row ${JSON.stringify(text)} of ${this.#source.name}`;
  }

  async *#recompute(
    view: View,
  ): AsyncGenerator<{ readonly row: unknown; readonly value: AnyRow }, void, undefined> {
    const groups = new Map<string, TwinGroup>();
    for await (const { row, value } of this.#source.scan(view)) {
      const contribution = this.#contributionOf(value, row);
      if (contribution === undefined) continue;
      let group = groups.get(contribution.group);
      if (group === undefined) {
        group = new TwinGroup(this.#options.top?.n ?? 0);
        groups.set(contribution.group, group);
      }
      group.add(contribution, this.#source.keys.format(row));
    }
    for (const [text, group] of groups) {
      const value = { ...this.#summed(text, group.total), ...group.ranked() };
      if (Object.keys(value).length > 0) yield { row: this.#groups.parse(text), value };
    }
  }
}

/** A group of the batch twin. */
class TwinGroup {
  total = emptySum;
  readonly #n: number;
  #min: Rankable | undefined;
  #max: Rankable | undefined;
  #top: TopEntry[] = [];

  constructor(n: number) {
    this.#n = n;
  }

  add({ sum, min, max, top }: Contribution, row: string): void {
    this.total = addPartial(this.total, partialOf(sum, 1));
    if (min !== undefined && (this.#min === undefined || compareRanked(min, this.#min) < 0)) this.#min = min;
    if (max !== undefined && (this.#max === undefined || compareRanked(max, this.#max) > 0)) this.#max = max;
    if (top !== undefined) this.#top.push({ by: top, row });
    if (this.#top.length > 2 * this.#n + 100) this.#cut();
  }

  ranked(): Partial<Record<Ranking, unknown>> {
    this.#cut();
    return {
      ...(this.#min === undefined ? {} : { min: this.#min }),
      ...(this.#max === undefined ? {} : { max: this.#max }),
      ...(this.#top.length === 0 ? {} : { top: this.#top }),
    };
  }

  #cut(): void {
    this.#top.sort((one, other) => compareRanked(other.by, one.by) || compareText(other.row, one.row));
    this.#top = this.#top.slice(0, this.#n);
  }
}

function columnsOf(options: AnyAggregateOptions): Readonly<Record<string, Codec<unknown>>> {
  const { count, sum, min, max, top } = options;
  if (top !== undefined) wholeOption("top.n", top.n, 1, 1_000);
  return {
    ...(count === true ? { count: int() } : {}),
    ...(sum === undefined ? {} : { sum: float() }),
    ...(min === undefined ? {} : { min: json<Rankable>() }),
    ...(max === undefined ? {} : { max: json<Rankable>() }),
    ...(top === undefined ? {} : { top: json<readonly TopEntry[]>() }),
  };
}
