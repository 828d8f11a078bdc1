import type { PendingChange } from "../../observer/index.js";
import type { Failure } from "./groups.js";

/** A waiting change whose last run failed. */
export type RetryingChange = PendingChange & Failure;

/** A waiting change as a failure. Undefined if its last run did not fail. */
export function failingOf(change: PendingChange): RetryingChange | undefined {
  const { lastError } = change;
  if (lastError === undefined) return undefined;
  // A hint keeps the name of the error and its message in one line.
  const [name = "", message = ""] = lastError.split(/: (.*)/s);
  return { ...change, error: { name, message } };
}
