import { InvalidValueError } from "../../index.js";
import type { KeyText } from "../key-text.js";
import type { AnyAggregateOptions } from "./aggregate-options.js";
import type { Rankable } from "./ranked.js";
import { type AnyRow, reasonOf, type Source } from "./source.js";

/** The aggregates that need the values of a group in order. */
export const rankings = ["min", "max", "top"] as const;
export type Ranking = (typeof rankings)[number];

/** What a row contributes to its group. The derivation stores it, so that it can be taken back. */
export interface Contribution extends Partial<Readonly<Record<Ranking, Rankable>>> {
  /** The key of the group, as text. */
  readonly group: string;
  readonly sum?: number;
}

/** The only group of a derivation without `groupBy`. */
const onlyGroup = "all";

/** What a derivation's functions say of its source's rows. */
export class Contributions {
  /** The rankings that the derivation asks for. */
  readonly rankings: readonly Ranking[];
  readonly #options: AnyAggregateOptions;
  readonly #source: Source;
  readonly #groups: KeyText<unknown>;

  constructor(options: AnyAggregateOptions, source: Source, groups: KeyText<unknown>) {
    this.#options = options;
    this.#source = source;
    this.#groups = groups;
    this.rankings = rankings.filter((ranking) => options[ranking] !== undefined);
  }

  /** What a row contributes. Undefined if it belongs to no group. */
  of(value: AnyRow, row: unknown): Contribution | undefined {
    const { groupBy, sum } = this.#options;
    const key = this.#source.copyOf(row);
    const group = groupBy === undefined ? onlyGroup : this.#groupOf(groupBy(value, key), row);
    if (group === undefined) return undefined;
    const added = sum?.(value, key);
    const ranked: Partial<Record<Ranking, Rankable>> = {};
    for (const ranking of this.rankings) {
      const rankBy = ranking === "top" ? this.#options.top!.by : this.#options[ranking]!;
      const found = rankBy(value, key);
      if (found !== undefined) ranked[ranking] = this.#rankable(ranking, found, row);
    }
    return { group, ...(added === undefined ? {} : { sum: this.#number("sum", added, row) }), ...ranked };
  }

  #groupOf(key: unknown, row: unknown): string | undefined {
    if (key === undefined || (Array.isArray(key) && key.includes(undefined))) return undefined;
    try {
      return this.#groups.format(key);
    } catch (cause) {
      throw new InvalidValueError(
        `${this.#source.at(row)}: \`groupBy\` returned a key that does not fit \`key\`: ${reasonOf(cause)}`,
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
      `${this.#source.at(row)}: \`${option}\` must return ${wanted}, or undefined to leave the row out, not ${shown}.`,
    );
  }
}
