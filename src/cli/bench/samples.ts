const maxKept = 200_000;

/** Figures of which quantiles are wanted; of very many, a fair choice is kept. */
export class Samples {
  count = 0;
  readonly #random: () => number;
  readonly #kept: number[] = [];
  #largest = Number.NEGATIVE_INFINITY;
  #isSorted = false;

  constructor(random: () => number) {
    this.#random = random;
  }

  add(value: number): void {
    this.count++;
    this.#isSorted = false;
    if (value > this.#largest) this.#largest = value;
    if (this.#kept.length < maxKept) {
      this.#kept.push(value);
      return;
    }
    const at = Math.floor(this.#random() * this.count);
    if (at < maxKept) this.#kept[at] = value;
  }

  /** The least value that a share of all, from 0 to 1, do not exceed; the largest is exact. Undefined of none. */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined;
    if (share >= 1) return this.#largest;
    if (!this.#isSorted) this.#kept.sort((a, b) => a - b);
    this.#isSorted = true;
    return this.#kept[Math.max(0, Math.ceil(share * this.#kept.length) - 1)];
  }
}
