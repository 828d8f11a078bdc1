import type { Durations } from "../api/index.js";
import { sumOf } from "./sums.js";

/**
 * Durations by bucket: `[bucket, count]` for each bucket that is not empty. Histograms can be
 * added.
 */
export type Histogram = readonly (readonly [bucket: number, count: number])[];

const minMs = 0.05;
const factor = 1.15;
/** The last bucket holds every duration above about an hour. */
const buckets = 132;

function bucketOf(ms: number): number {
  if (ms <= minMs) return 0;
  return Math.min(buckets - 1, Math.ceil(Math.log(ms / minMs) / Math.log(factor)));
}

/** The middle of a bucket, at most about 7 % away from any duration in the bucket. */
const middleOf = (bucket: number) => minMs * factor ** (bucket - 0.5);

const slots = 6;

interface Slot {
  number: number;
  readonly counts: Uint32Array;
}

/** A histogram of the last minutes, in memory of a fixed size. */
export class DurationWindow {
  readonly #slotMs: number;
  readonly #slots: Slot[] = [];

  constructor(windowMs: number) {
    this.#slotMs = windowMs / slots;
  }

  add(nowMs: number, durationMs: number): void {
    const number = Math.floor(nowMs / this.#slotMs);
    const at = number % slots;
    let slot = this.#slots[at];
    if (slot === undefined) {
      slot = { number, counts: new Uint32Array(buckets) };
      this.#slots[at] = slot;
    } else if (slot.number !== number) {
      slot.number = number;
      slot.counts.fill(0);
    }
    slot.counts[bucketOf(durationMs)]!++;
  }

  histogram(nowMs: number): Histogram {
    const newest = Math.floor(nowMs / this.#slotMs);
    const found = this.#slots.filter(({ number }) => number <= newest && number > newest - slots);
    return addHistograms(found.map(({ counts }) => [...counts.entries()].filter(([, count]) => count > 0)));
  }
}

/** The sum of several histograms. */
export function addHistograms(histograms: readonly Histogram[]): Histogram {
  const sums = new Map<number, number>();
  for (const [bucket, count] of histograms.flat()) sums.set(bucket, (sums.get(bucket) ?? 0) + count);
  return [...sums];
}

/** The count, and percentiles that are accurate to about 7 %. */
export function durationsOf(histogram: Histogram): Durations {
  const sorted = histogram.toSorted(([a], [b]) => a - b);
  const count = sumOf(sorted, ([, each]) => each);
  const at = (share: number) => {
    let left = Math.max(1, Math.ceil(count * share));
    const found = sorted.find(([, each]) => {
      left -= each;
      return left <= 0;
    });
    return found === undefined ? undefined : middleOf(found[0]);
  };
  return { count, p50Ms: at(0.5), p99Ms: at(0.99) };
}
