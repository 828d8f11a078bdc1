/**
 * A distribution: how many, their sum, percentiles of the newest samples, and how many of all were
 * up to each bound.
 */
export interface Distribution {
  readonly count: number;
  readonly sum: number;
  readonly maximum: number;
  readonly p50: number;
  readonly p99: number;
  /** How many samples were at most each of {@link distributionBounds}, all since the beginning. */
  readonly upTo: readonly number[];
}

/** Milliseconds, from a tenth of one to an hour. */
export const distributionBounds: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
  3_600_000,
];

const samplesKept = 1_024;

/** Collects samples in memory of a fixed size. */
export class Sampled {
  readonly #samples = new Float64Array(samplesKept);
  /** How many fell between a bound and the one before it; the last is for what is above all. */
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
