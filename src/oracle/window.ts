import { LimitExceededError } from "../errors/index.js";
import { lastTimestamp, type TimestampRange } from "./range.js";

/**
 * Counts timestamps up to a high-water mark in stable storage. Every timestamp is at or below a
 * mark that was saved before the timestamp was given out.
 */
export class TimestampWindow {
  readonly #size: number;
  #last: number;
  #mark: number;

  /**
   * `floor`: all timestamps of earlier terms are at or below it. `size`: how far the mark is raised
   * beyond the current need.
   */
  constructor(floor: number, mark: number, size: number) {
    this.#last = floor;
    this.#mark = mark;
    this.#size = size;
  }

  /** The last timestamp given out. Before the first, the floor. */
  get last(): number {
    return this.#last;
  }

  get mark(): number {
    return this.#mark;
  }

  /**
   * Whether less than half of the window is left, so the leader should raise the mark before the
   * window runs out.
   */
  get isLow(): boolean {
    return this.#mark < lastTimestamp && this.#mark - this.#last < this.#size / 2;
  }

  /**
   * The next `count` timestamps. The first is max(last + 1, now). Undefined if the leader must
   * raise the mark first.
   */
  take(count: number, nowUs: number): TimestampRange | undefined {
    const first = Math.max(this.#last + 1, nowUs);
    const last = first + count - 1;
    if (last > lastTimestamp) {
      throw new LimitExceededError(
        `The oracle has reached ${first}, but timestamps end at ${lastTimestamp}. Its clock is or was wrong. Correct the clock, ` +
          "and move the data to a new database with `percolator export` and `percolator import`.",
      );
    }
    if (last > this.#mark) return undefined;
    this.#last = last;
    return { first, count };
  }

  /** The mark to save. It leaves a whole window above `nowUs` and above the last timestamp. */
  wanted(nowUs: number): number {
    return Math.min(lastTimestamp, Math.max(this.#mark, Math.max(this.#last, nowUs) + this.#size));
  }

  /** Sets the mark that stable storage now holds. */
  raise(mark: number): void {
    this.#mark = Math.max(this.#mark, mark);
  }
}
