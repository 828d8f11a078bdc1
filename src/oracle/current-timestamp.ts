import type { MaybePromise, RowStore } from "../store/index.js";
import type { Oracle } from "./oracle.js";

/**
 * Returns a timestamp at or above every commit that was known to any process before the call. If
 * the store counts timestamps, this is the value of its counter. Otherwise this is a new timestamp
 * of the oracle, because the oracle's client may know only the timestamps that it received itself.
 */
export function currentTimestamp(context: {
  readonly oracle: Oracle;
  readonly store: Pick<RowStore, "atomic">;
}): MaybePromise<number> {
  return context.store.atomic === undefined ? context.oracle.next() : context.oracle.latest();
}
