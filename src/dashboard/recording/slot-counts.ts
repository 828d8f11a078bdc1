import type { Series } from "../api/index.js";
import { sumOf } from "./sums.js";

/** Seconds over which a rate is averaged. */
const rateSeconds = 5;

/** Counts by slots of time, such as seconds, for a fixed number of recent slots. */
export class SlotCounts {
  readonly #slotMs: number;
  readonly #counts: Float64Array;
  readonly #slots: Float64Array;

  /** `slots`: how many full slots are kept, besides the current one. */
  constructor(slots: number, slotMs = 1_000) {
    this.#slotMs = slotMs;
    this.#counts = new Float64Array(slots + 1);
    this.#slots = new Float64Array(slots + 1).fill(-1);
  }

  add(nowMs: number, count = 1): void {
    const slot = this.#slotAt(nowMs);
    const at = slot % this.#counts.length;
    if (this.#slots[at] !== slot) {
      this.#slots[at] = slot;
      this.#counts[at] = 0;
    }
    this.#counts[at]! += count;
  }

  #slotAt(nowMs: number): number {
    return Math.floor(nowMs / this.#slotMs);
  }

  #of(slot: number): number {
    const at = slot % this.#counts.length;
    return this.#slots[at] === slot ? this.#counts[at]! : 0;
  }

  /** The last `length` full slots, oldest first. */
  #full(nowMs: number, length: number): readonly number[] {
    const current = this.#slotAt(nowMs);
    return Array.from({ length }, (_, index) => this.#of(current - length + index));
  }

  /** All full slots, oldest first. */
  series(nowMs: number): Series {
    const values = this.#full(nowMs, this.#counts.length - 1);
    return { endsAt: this.#slotAt(nowMs) * this.#slotMs, values };
  }

  /** The average of the last 5 full seconds. The slots must be seconds. */
  rate(nowMs: number): number {
    return sumOf(this.#full(nowMs, rateSeconds), Number) / rateSeconds;
  }

  /** The sum of all full slots and the current one. */
  total(nowMs: number): number {
    return sumOf(this.series(nowMs).values, Number) + this.#of(this.#slotAt(nowMs));
  }
}

/** The sum of several series, second by second. Differences between clocks are not corrected. */
export function addSeries(all: readonly Series[], nowMs: number, length: number): Series {
  const endsAt = Math.max(...all.map((each) => each.endsAt), all.length === 0 ? floorSecond(nowMs) : 0);
  const values = new Array<number>(length).fill(0);
  for (const each of all) {
    const shift = Math.round((endsAt - each.endsAt) / 1_000);
    for (const [index, value] of each.values.entries()) {
      const at = length - each.values.length - shift + index;
      if (at >= 0 && at < length) values[at]! += value;
    }
  }
  return { endsAt, values };
}

const floorSecond = (ms: number) => Math.floor(ms / 1_000) * 1_000;
