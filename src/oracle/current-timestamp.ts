import type { MaybePromise, RowStore } from "../store/index.js";
import type { Oracle } from "./oracle.js";

/**
 * A timestamp at or above every commit that was told to anybody before the call. A store's own
 * counter says it; an oracle's client may know only of what it was given itself, and takes a new
 * one.
 */
export function currentTimestamp(context: {
  readonly oracle: Oracle;
  readonly store: Pick<RowStore, "atomic">;
}): MaybePromise<number> {
  return context.store.atomic === undefined ? context.oracle.next() : context.oracle.latest();
}
