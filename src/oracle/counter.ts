import type { AtomicStore } from "../store/index.js";
import type { Oracle } from "./oracle.js";

/**
 * The oracle of a store that counts timestamps itself: each timestamp is an increment of the
 * store's counter.
 */
export function counterOracle(store: AtomicStore): Oracle {
  return {
    next: (options) => store.next(options),
    latest: () => store.counter(),
  };
}
