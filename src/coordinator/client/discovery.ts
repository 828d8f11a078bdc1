import type { Environment } from "../../environment/index.js";
import { OracleUnavailableError } from "../../errors/index.js";
import { readLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";

/** Where to look for the leader, as long as nobody has pointed to it. */
export interface Discovery {
  /** The next address to try. */
  next(signal: AbortSignal): Promise<string>;
}

/** One address after another. */
export function listedAddresses(addresses: readonly string[]): Discovery {
  let index = 0;
  return { next: async () => addresses[index++ % addresses.length]! };
}

/** Whom the lease in the store names. */
export function leasedAddress(store: RowStore, environment: Environment, timeoutMs: number): Discovery {
  return {
    async next(signal) {
      const lease = await readLease({ store, environment, timeoutMs, signal });
      if (lease !== undefined && lease.name !== "") return lease.name;
      throw new OracleUnavailableError(
        `No coordinator leads the cluster of ${store.description} at the moment. Start one: percolator coordinator LOCATION.`,
      );
    },
  };
}
