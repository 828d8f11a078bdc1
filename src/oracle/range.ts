import { InvalidArgumentError, LimitExceededError } from "../errors/index.js";

/** Consecutive timestamps: `first`, `first + 1`, and so on, `count` of them. */
export interface TimestampRange {
  readonly first: number;
  readonly count: number;
}

/**
 * The last timestamp that an oracle gives out. It is below the largest safe integer, so that
 * calculations with it stay exact.
 */
export const lastTimestamp = Number.MAX_SAFE_INTEGER - 1_000_000;

export function checkCount(count: number, most: number): void {
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new InvalidArgumentError(`The number of timestamps must be a whole number above 0, not ${count}.`);
  }
  if (count > most) {
    throw new LimitExceededError(
      `${count} timestamps were requested at once, but at most ${most} are allowed. Divide the request.`,
    );
  }
}
