import type { Oracle } from "percolatordb";
import { memoryStore } from "percolatordb/memory";

/**
 * One counter for all timestamps, in this process. The cost of a real oracle is measured elsewhere.
 */
export function sharedOracle(): Oracle {
  const counter = memoryStore().atomic!;
  return { next: (options) => counter.next(options), latest: () => counter.counter() };
}
