import { type OpenOptions, type Oracle, open, type RowStore } from "percolatordb";
import { memoryStore } from "percolatordb/memory";

/** A store in this process for several databases: closing one of them does not close it. */
export class SharedStore {
  readonly #store = memoryStore({ atomicBatches: false });

  /** The store for one of the databases. */
  member(): RowStore {
    return new Proxy(this.#store, {
      get: (store, property) => {
        if (property === "close") return async () => undefined;
        const value: unknown = Reflect.get(store, property, store);
        return typeof value === "function" ? value.bind(store) : value;
      },
    });
  }

  open(options: OpenOptions = {}) {
    return open(this.member(), { collectEveryMs: 0, ...options });
  }
}

/** An oracle that counts by itself, without a coordinator. */
export function countingOracle(): Oracle {
  const { atomic } = memoryStore();
  return { next: (options) => atomic!.next(options), latest: () => atomic!.counter() };
}
