import type { TopEntry } from "./aggregate-options.js";
import type { Contribution, Ranking } from "./contribution.js";
import { addPartial, emptySum, partialOf } from "./partial-sum.js";
import { compareRanked, compareText, type Rankable } from "./ranked.js";

/** A group of the batch twin. */
export class TwinGroup {
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
