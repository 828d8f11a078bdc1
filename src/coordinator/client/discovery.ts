import type { Environment } from "../../environment/index.js";
import { OracleUnavailableError } from "../../errors/index.js";
import { readLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";

/** A coordinator to ask. */
export interface Candidate {
  readonly address: string;
  /** Identifies the database that it must serve. Undefined if the client does not know it. */
  readonly cluster: string | undefined;
}

/** Finds coordinators to ask while the client does not know the leader. */
export interface Discovery {
  /** The next one to try. */
  next(signal: AbortSignal): Promise<Candidate>;
}

export interface DiscoveryOptions {
  readonly store?: RowStore | undefined;
  readonly addresses?: readonly string[] | undefined;
  readonly environment: Environment;
  /** How long to wait for the store's answer, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Tries the addresses in turn, or else the leader that the lease in the store names. The lease also
 * says which database a coordinator must serve.
 */
export function discoveryOf({ store, addresses, environment, timeoutMs }: DiscoveryOptions): Discovery {
  let index = 0;
  const listed = () => addresses?.[index++ % addresses.length];
  return {
    async next(signal) {
      if (store === undefined) return { address: listed()!, cluster: undefined };
      const lease = await readLease({ store, environment, timeoutMs, signal });
      const address = lease && (listed() ?? lease.name);
      if (address) return { address, cluster: lease.cluster || undefined };
      throw new OracleUnavailableError(
        `No coordinator leads the cluster of ${store.description} now. Start one: percolator coordinator LOCATION.`,
      );
    },
  };
}
