import type { Series } from "../api.js";

/** Seconds over which a rate is averaged. */
const rateSeconds = 5;

/** Counts by second, for a fixed number of recent seconds. */
export class SecondCounts {
  readonly #counts: Float64Array;
  readonly #seconds: Float64Array;

  /** `seconds`: how many full seconds are kept. */
  constructor(seconds: number) {
    this.#counts = new Float64Array(seconds + 1);
    this.#seconds = new Float64Array(seconds + 1).fill(-1);
  }

  add(nowMs: number, count = 1): void {
    const second = Math.floor(nowMs / 1_000);
    const at = second % this.#counts.length;
    if (this.#seconds[at] !== second) {
      this.#seconds[at] = second;
      this.#counts[at] = 0;
    }
    this.#counts[at]! += count;
  }

  #of(second: number): number {
    const at = second % this.#counts.length;
    return this.#seconds[at] === second ? this.#counts[at]! : 0;
  }

  /** The last full seconds, oldest first. */
  series(nowMs: number): Series {
    const current = Math.floor(nowMs / 1_000);
    const length = this.#counts.length - 1;
    const values = Array.from({ length }, (_, index) => this.#of(current - length + index));
    return { endsAt: current * 1_000, values };
  }

  /** The average of the last 5 full seconds. */
  rate(nowMs: number): number {
    const current = Math.floor(nowMs / 1_000);
    let sum = 0;
    for (let back = 1; back <= rateSeconds; back++) sum += this.#of(current - back);
    return sum / rateSeconds;
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
