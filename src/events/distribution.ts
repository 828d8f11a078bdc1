/**
 * A distribution of samples: their count, sum and maximum, percentiles of the newest 1,024, and
 * cumulative counts for {@link distributionBounds}.
 */
export interface Distribution {
  readonly count: number;
  readonly sum: number;
  readonly maximum: number;
  readonly p50: number;
  readonly p99: number;
  /**
   * For each of {@link distributionBounds}, the number of samples since the start that were at most
   * the bound.
   */
  readonly upTo: readonly number[];
}

/** Upper bounds of a distribution's buckets, in milliseconds: from 0.1 ms to an hour. */
export const distributionBounds: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
  3_600_000,
];

const samplesKept = 1_024;

/** Computes a {@link Distribution} of samples in a fixed amount of memory. */
export class SampledDistribution {
  readonly #samples = new Float64Array(samplesKept);
  /**
   * Counts of samples between a bound and the previous bound. The last count is of samples above
   * all bounds.
   */
  readonly #between = new Float64Array(distributionBounds.length + 1);
  #count = 0;
  #sum = 0;
  #maximum = 0;

  add(value: number): void {
    this.#samples[this.#count % samplesKept] = value;
    this.#between[placeOf(value)]!++;
    this.#count++;
    this.#sum += value;
    if (value > this.#maximum) this.#maximum = value;
  }

  distribution(): Distribution {
    const kept = this.#samples.slice(0, Math.min(this.#count, samplesKept)).sort();
    const at = (share: number) => kept[Math.min(kept.length - 1, Math.floor(kept.length * share))] ?? 0;
    let sum = 0;
    const upTo = distributionBounds.map((_, index) => {
      sum += this.#between[index]!;
      return sum;
    });
    return { count: this.#count, sum: this.#sum, maximum: this.#maximum, p50: at(0.5), p99: at(0.99), upTo };
  }
}

function placeOf(value: number): number {
  let place = 0;
  while (place < distributionBounds.length && value > distributionBounds[place]!) place++;
  return place;
}
