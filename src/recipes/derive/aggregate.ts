import {
  type AnyTable,
  batchObserver,
  bytes,
  type Codec,
  type Column,
  float,
  InvalidArgumentError,
  int,
  json,
  type KeyCodec,
  type SignalChange,
  signal,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import { type KeyText, keyText } from "../key-text.js";
import { checkOptions, type OptionKind, wholeOption } from "../options.js";
import { type RowParts, rowParts } from "../row-parts.js";
import { columnOf, type View } from "../view.js";
import type { AnyAggregateOptions, TopEntry } from "./aggregate-options.js";
import { type Contribution, Contributions, type Ranking, rankings } from "./contribution.js";
import { batchOptions, type DerivationParts } from "./derivation.js";
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
import { type Rankable, rankBytes } from "./ranked.js";
import { setRow } from "./set-row.js";
import { Slots } from "./slots.js";
import { type AnyRow, type OnFailed, Source } from "./source.js";
import { TwinGroup } from "./twin-group.js";

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

interface StoredContribution extends Contribution {
  /** The version of the derivation that made the contribution. */
  readonly version: number;
}

/** Ends with the parts of the row key, so that equal values are in the order of their rows. */
type RankKey = readonly [group: string, ranking: string, value: Uint8Array, ...row: readonly unknown[]];

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
 * sums. A run handles many rows, and writes each of their groups once. No two runs write the same cell,
 * unless all partial sums of a group are in use.
 */
class Aggregate {
  readonly parts: DerivationParts<AnyTable>;
  readonly #name: string;
  readonly #options: AnyAggregateOptions;
  readonly #version: number;
  readonly #source: Source;
  readonly #parts: RowParts<unknown>;
  readonly #groups: KeyText<unknown>;
  readonly #contributions: Contributions;
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
    this.#parts = rowParts(this.#source.key);
    const key = options.key === undefined ? undefined : (tuple(...options.key) as KeyCodec<unknown>);
    this.#groups = keyText(key);
    this.#contributions = new Contributions(options, this.#source, this.#groups);
    const derived: AnyTable = table(name, columnsOf(options), { key });
    this.#columns = Object.values(derived as unknown as Record<string, Column<unknown, unknown>>);
    // Texts of JSON, because they are read and written for every change, and a JSON column checks
    // every value.
    const rows = table(`${name}_rows`, { contribution: text() }, { key: this.#source.key });
    const sums = table(`${name}_sums`, { sum: text() }, { key: tuple(text(), int()) });
    const ranks = table(
      `${name}_ranks`,
      { value: json<Rankable>() },
      { key: tuple(text(), text(), bytes(), ...this.#parts.codecs) },
    );
    this.#state = table(`${name}_state`, { combined: int(), due: signal(), version: int() });
    this.#rows = columnOf(rows, "contribution");
    this.#sums = columnOf(sums, "sum");
    this.#ranks = columnOf(ranks, "value");
    this.#slots = new Slots(wholeOption("shards", options.shards ?? 256, 1, 1_024), options.environment);
    const observed = batchOptions(options);
    const contribute = (tx: Transaction, rows: readonly unknown[]) => this.#contribute(tx, rows);
    this.parts = {
      name,
      version: this.#version,
      table: derived,
      columns: this.#columns,
      tables: [
        derived,
        rows,
        sums,
        this.#state,
        ...(this.#contributions.rankings.length === 0 ? [] : [ranks]),
      ],
      sources: this.#source.batchObservers(name, contribute, observed),
      others: [batchObserver(name, this.#state.due, (tx, due) => this.#combineAll(tx, due), observed)],
      source: this.#source,
      kept: rows,
      update: contribute,
      backfilled: this.#state.version,
      recompute: (view, onFailed) => this.#recompute(view, onFailed),
    };
  }

  /** Replaces the contributions of rows by their present ones, and adds up what changes in each group. */
  async #contribute(tx: Transaction, rows: readonly unknown[]): Promise<void> {
    const changed = new Map<string, PartialSum>();
    await Promise.all(rows.map((row) => this.#contributeRow(tx, row, changed)));
    await Promise.all(
      [...changed].map(async ([group, difference]) => {
        if (!isEmptySum(difference)) await this.#addTo(tx, group, difference);
        tx.notify(this.#state.due, group);
      }),
    );
  }

  /** Replaces the contribution of a row by its present one. Adds the difference to the changed groups. */
  async #contributeRow(tx: Transaction, row: unknown, changed: Map<string, PartialSum>): Promise<void> {
    const [value, stored] = await Promise.all([this.#source.read(tx, row), tx.get(this.#rows, row)]);
    const before = stored === undefined ? undefined : (JSON.parse(stored) as StoredContribution);
    const after = value === undefined ? undefined : this.#contributions.of(value, row);
    const isCurrent = before?.version === this.#version;
    const isMoved = before?.group !== after?.group;
    let isRanked = false;
    for (const ranking of rankings) {
      if (this.#rank(tx, row, ranking, before, after)) isRanked = true;
    }
    if (isMoved || isRanked || before?.sum !== after?.sum || !isCurrent) {
      if (before !== undefined) add(changed, before.group, partialOf(before.sum, -1));
      if (after !== undefined) add(changed, after.group, partialOf(after.sum, 1));
    }
    // Written even if it is unchanged. Two runs of one row, for two of its columns, then conflict.
    // The later one therefore begins after the other's commit, and sees what both columns hold.
    if (after === undefined) tx.delete(this.#rows, row);
    else tx.set(this.#rows, row, JSON.stringify({ ...after, version: this.#version }));
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
    row: unknown,
    ranking: Ranking,
    before: Contribution | undefined,
    after: Contribution | undefined,
  ): boolean {
    const [old, now] = [before?.[ranking], after?.[ranking]];
    if (old === now && before?.group === after?.group) return false;
    const own = this.#parts.of(row);
    if (old !== undefined) tx.delete(this.#ranks, [before!.group, ranking, rankBytes(old), ...own]);
    if (now !== undefined) tx.set(this.#ranks, [after!.group, ranking, rankBytes(now), ...own], now);
    return old !== undefined || now !== undefined;
  }

  async #combineAll(tx: Transaction, due: readonly SignalChange<string>[]): Promise<void> {
    await Promise.all(due.map(({ row: group }) => this.#combine(tx, group)));
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
    for (const ranking of this.#contributions.rankings) {
      const limit = ranking === "top" ? this.#options.top!.n : 1;
      const entries: TopEntry[] = [];
      const prefix = [group, ranking] as never;
      const scan = tx.scan(this.#ranks, { prefix, reverse: ranking !== "min", limit });
      for await (const { row, value } of scan) entries.push({ by: value, row: this.#textOf(row) });
      if (entries.length > 0) values[ranking] = ranking === "top" ? entries : entries[0]!.by;
    }
    return values;
  }

  #textOf([, , , ...row]: RankKey): string {
    return this.#source.keys.format(this.#parts.keyOf(row));
  }

  #summed(group: string, total: PartialSum): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    if (this.#options.count === true) values.count = total.rows;
    if (this.#options.sum !== undefined) values.sum = sumOf(this.#name, group, total);
    return values;
  }

  async *#recompute(
    view: View,
    onFailed: OnFailed,
  ): AsyncGenerator<{ readonly row: unknown; readonly value: AnyRow }, void, undefined> {
    const groups = new Map<string, TwinGroup>();
    for await (const { row, value } of this.#source.scan(view)) {
      const contribution = this.#source.attempt(row, onFailed, () => this.#contributions.of(value, row));
      if (contribution === undefined) continue;
      let group = groups.get(contribution.group);
      if (group === undefined) {
        group = new TwinGroup(this.#options.top?.n ?? 0);
        groups.set(contribution.group, group);
      }
      const { key, keys } = this.#source;
      group.add(contribution, { text: keys.format(row), bytes: key.encode(row) });
    }
    for (const [text, group] of groups) {
      let value: AnyRow;
      try {
        value = { ...this.#summed(text, group.total), ...group.ranked() };
      } catch (error) {
        onFailed(text, error, true);
        continue;
      }
      if (Object.keys(value).length > 0) yield { row: this.#groups.parse(text), value };
    }
  }
}

function add(changed: Map<string, PartialSum>, group: string, difference: PartialSum): void {
  changed.set(group, addPartial(changed.get(group) ?? emptySum, difference));
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
