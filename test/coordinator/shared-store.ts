import { type RowStore, systemEnvironment } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";

/**
 * A folder that several processes share, without its counter and its batches: what a store beyond one machine has, so that an
 * oracle is needed. Processes are killed here, machines are not: nothing waits for the disk.
 */
export async function openSharedStore(folder: string): Promise<RowStore> {
  const store = await openLmdbStore(folder, { environment: systemEnvironment, durability: "none" });
  return withoutBatches(store);
}

function withoutBatches(store: RowStore): RowStore {
  const capabilities = { ...store.capabilities, atomicBatches: false };
  return new Proxy(store, {
    get(target, name) {
      if (name === "atomic") return undefined;
      if (name === "capabilities") return capabilities;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
