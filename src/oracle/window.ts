import { LimitExceededError } from "../errors/index.js";
import { lastTimestamp, type TimestampRange } from "./range.js";

/**
 * Counts timestamps up to a mark, which stands in stable storage. Every timestamp ever given is at
 * or below a mark that was saved before it was given.
 */
export class TimestampWindow {
  readonly #size: number;
  #last: number;
  #mark: number;

  /**
   * `floor`: all that was given before is at or below it. `size`: how far beyond need the mark is
   * raised.
   */
  constructor(floor: number, mark: number, size: number) {
    this.#last = floor;
    this.#mark = mark;
    this.#size = size;
  }

  /** The last timestamp given; before the first, the floor. */
  get last(): number {
    return this.#last;
  }

  get mark(): number {
    return this.#mark;
  }

  /**
   * Whether less than half of the window is left, so that the mark should be raised before it runs
   * out.
   */
  get isLow(): boolean {
    return this.#mark < lastTimestamp && this.#mark - this.#last < this.#size / 2;
  }

  /**
   * The next `count` timestamps, the first of them max(last + 1, now); undefined where the mark
   * must be raised first.
   */
  take(count: number, nowUs: number): TimestampRange | undefined {
    const first = Math.max(this.#last + 1, nowUs);
    const last = first + count - 1;
    if (last > lastTimestamp) {
      throw new LimitExceededError(
        `The oracle has come to ${first}, and gives no timestamps above ${lastTimestamp}. Its clock is wrong, or was: ` +
          "put the clock right, and the data into a new database.",
      );
    }
    if (last > this.#mark) return undefined;
    this.#last = last;
    return { first, count };
  }

  /** The mark to save, so that a window's size is left above `nowUs` and above what was given. */
  wanted(nowUs: number): number {
    return Math.min(lastTimestamp, Math.max(this.#mark, Math.max(this.#last, nowUs) + this.#size));
  }

  /** The mark as it now stands in stable storage. */
  raise(mark: number): void {
    this.#mark = Math.max(this.#mark, mark);
  }
}
