import type { SeededRandom } from "percolatordb/testing";

/** An exponentially distributed number. */
export function exponential(random: SeededRandom, mean: number): number {
  return -mean * Math.log(1 - random.next());
}

/**
 * Draws a rank from 0 to `size`, exclusive, in proportion to 1 / (rank + 1) ^ exponent; all alike for 0. The first thousand ranks are
 * exact, those after them by the continuous distribution.
 */
export function zipf(size: number, exponent: number): (random: SeededRandom) => number {
  if (exponent === 0) return (random) => random.below(size);
  const head = Math.min(size, 1_000);
  const cumulated = new Float64Array(head);
  let sum = 0;
  for (let rank = 0; rank < head; rank++) {
    sum += (rank + 1) ** -exponent;
    cumulated[rank] = sum;
  }
  const integral = (x: number) => (exponent === 1 ? Math.log(x) : (x ** (1 - exponent) - 1) / (1 - exponent));
  const tail = size > head ? integral(size + 0.5) - integral(head + 0.5) : 0;
  const inverse = (y: number) =>
    exponent === 1 ? Math.exp(y) : (y * (1 - exponent) + 1) ** (1 / (1 - exponent));
  return (random) => {
    const drawn = random.next() * (sum + tail);
    if (drawn >= sum) {
      return Math.min(size - 1, Math.round(inverse(integral(head + 0.5) + drawn - sum)) - 1);
    }
    let low = 0;
    let high = head - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cumulated[middle]! > drawn) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

const perDoubling = 16;
const smallest = 2 ** -10;

/** Durations in milliseconds, counted in classes that are 4.4 % wide. */
export class Durations {
  readonly #counts = new Float64Array(40 * perDoubling);
  #count = 0;
  #sum = 0;

  add(duration: number): void {
    const place = Math.floor(Math.log2(Math.max(duration, smallest) / smallest) * perDoubling);
    this.#counts[Math.min(this.#counts.length - 1, place)]!++;
    this.#count++;
    this.#sum += duration;
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** The duration that `part` of all do not exceed, to the width of a class; 0 of none. */
  quantile(part: number): number {
    const wanted = part * this.#count;
    if (wanted === 0) return 0;
    let seen = 0;
    for (const [place, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= wanted) return smallest * 2 ** ((place + 0.5) / perDoubling);
    }
    return 0;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#sum = 0;
  }
}
