const maxKept = 200_000;

/**
 * Collects latencies for quantiles. It keeps all of them up to 200,000. If there are more, it keeps
 * a uniform random sample of 200,000.
 */
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

  /**
   * Returns a quantile. `share` is from 0 to 1: 0.5 returns the median of the kept samples, and 1
   * the exact maximum of all samples. Returns undefined if there are no samples.
   */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined;
    if (share >= 1) return this.#largest;
    if (!this.#isSorted) this.#kept.sort((a, b) => a - b);
    this.#isSorted = true;
    return this.#kept[Math.max(0, Math.ceil(share * this.#kept.length) - 1)];
  }
}
