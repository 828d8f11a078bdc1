import type { MaybePromise, RowStore } from "../store/index.js";
import type { Oracle } from "./oracle.js";

/**
 * A timestamp at or above every commit that any process was told of before the call. If the store
 * counts timestamps, its counter gives it. The client of an oracle may know only its own
 * timestamps, so it takes a new one.
 */
export function currentTimestamp(context: {
  readonly oracle: Oracle;
  readonly store: Pick<RowStore, "atomic">;
}): MaybePromise<number> {
  return context.store.atomic === undefined ? context.oracle.next() : context.oracle.latest();
}
