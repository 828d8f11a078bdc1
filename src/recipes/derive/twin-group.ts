import type { TopEntry } from "./aggregate-options.js";
import type { Contribution, Ranking } from "./contribution.js";
import { addPartial, emptySum, partialOf } from "./partial-sum.js";
import { compareRanked, type Rankable } from "./ranked.js";

/** The key of a row: as text, and as bytes that sort as the keys do. */
interface TwinRow {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** A group of the batch twin. */
export class TwinGroup {
  total = emptySum;
  readonly #n: number;
  #min: Rankable | undefined;
  #max: Rankable | undefined;
  #top: { readonly by: Rankable; readonly row: TwinRow }[] = [];

  constructor(n: number) {
    this.#n = n;
  }

  add({ sum, min, max, top }: Contribution, row: TwinRow): void {
    this.total = addPartial(this.total, partialOf(sum, 1));
    if (min !== undefined && (this.#min === undefined || compareRanked(min, this.#min) < 0)) this.#min = min;
    if (max !== undefined && (this.#max === undefined || compareRanked(max, this.#max) > 0)) this.#max = max;
    if (top !== undefined) this.#top.push({ by: top, row });
    if (this.#top.length > 2 * this.#n + 100) this.#cut();
  }

  ranked(): Partial<Record<Ranking, unknown>> {
    this.#cut();
    const top = this.#top.map(({ by, row }): TopEntry => ({ by, row: row.text }));
    return {
      ...(this.#min === undefined ? {} : { min: this.#min }),
      ...(this.#max === undefined ? {} : { max: this.#max }),
      ...(top.length === 0 ? {} : { top }),
    };
  }

  #cut(): void {
    this.#top.sort(
      (one, other) => compareRanked(other.by, one.by) || Buffer.compare(other.row.bytes, one.row.bytes),
    );
    this.#top = this.#top.slice(0, this.#n);
  }
}
