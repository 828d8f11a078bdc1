import { type RowStore, systemEnvironment } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";

/**
 * A folder that several processes share. Like a store on several machines it has no counter and no
 * batches, so it needs an oracle. It does not wait for the disk, because the tests kill only
 * processes, not machines.
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
