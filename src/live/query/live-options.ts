import { InvalidArgumentError } from "../../errors/index.js";
import { describeNonFunction, describeValue } from "../../schema/index.js";
import { checkTimeout } from "../../transaction/index.js";
import type { LiveSettings } from "./live-query.js";

/** The options of `db.live`. Each has a default. */
export interface LiveOptions {
  /** Ends the query: `next` then rejects. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Least time between the beginnings of two runs of the function, and so between two values, in
   * milliseconds. What changes meanwhile comes with the next value. Default: 0.
   */
  readonly throttleMs?: number | undefined;
  /**
   * The longest that one run of the function may take, in milliseconds. It includes the runs again
   * after an outage of the store. Default: 10,000.
   */
  readonly timeoutMs?: number | undefined;
}

const defaultTimeoutMs = 10_000;

/** Checks the arguments of `db.live`. */
export function liveSettings(read: unknown, { throttleMs = 0, timeoutMs }: LiveOptions): LiveSettings {
  const given = describeNonFunction(read);
  if (given !== undefined) {
    throw new InvalidArgumentError(`\`db.live\` takes a function that gets a snapshot, not ${given}.`);
  }
  if (!Number.isFinite(throttleMs) || throttleMs < 0) {
    throw new InvalidArgumentError(
      `\`throttleMs\` must be a number of milliseconds, 0 or more, not ${describeValue(throttleMs)}.`,
    );
  }
  return { throttleMs, timeoutMs: checkTimeout(timeoutMs) ?? defaultTimeoutMs };
}
