import type { PendingChange } from "../../observer/index.js";
import type { Failure } from "./groups.js";

/** A waiting change whose last run failed. */
export type RetryingChange = PendingChange & Failure;

/** From so many on, a change itself may be what ends the processes. One of them may have other causes. */
const suspiciousCrashes = 2;

/** A waiting change as a failure. Undefined if its last run did not fail. */
export function failingOf(change: PendingChange): RetryingChange | undefined {
  const { lastError, crashes } = change;
  if (lastError === undefined) {
    if (crashes < suspiciousCrashes) return undefined;
    return { ...change, error: { name: "Processes ended while this change was due", message: "" } };
  }
  // A hint keeps the name of the error and its message in one line.
  const [name = "", message = ""] = lastError.split(/: (.*)/s);
  return { ...change, error: { name, message } };
}
