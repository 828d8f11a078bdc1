import type { Environment } from "../../environment/index.js";
import { OracleUnavailableError } from "../../errors/index.js";
import { readLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";

/** Finds addresses of coordinators to ask while the client does not know the leader. */
export interface Discovery {
  /** The next address to try. */
  next(signal: AbortSignal): Promise<string>;
}

/** Tries the addresses in turn. */
export function listedAddresses(addresses: readonly string[]): Discovery {
  let index = 0;
  return { next: async () => addresses[index++ % addresses.length]! };
}

/** Reads the address of the leader from the lease in the store. */
export function leasedAddress(store: RowStore, environment: Environment, timeoutMs: number): Discovery {
  return {
    async next(signal) {
      const lease = await readLease({ store, environment, timeoutMs, signal });
      if (lease !== undefined && lease.name !== "") return lease.name;
      throw new OracleUnavailableError(
        `No coordinator leads the cluster of ${store.description} now. Start one: percolator coordinator LOCATION.`,
      );
    },
  };
}
