import type { Cluster } from "../../observer/index.js";
import type { GatheredOracle } from "../../oracle/index.js";
import { securityOf } from "../security/client-security.js";
import { coordinatorService } from "../wire/service.js";
import { type ConnectOptions, checkConnect } from "./connect-options.js";
import { leasedAddress, listedAddresses } from "./discovery.js";
import { LeaderConnection } from "./leader-connection.js";
import { RemoteCluster } from "./remote-cluster.js";
import { remoteOracle } from "./remote-oracle.js";

/** A process's connection to the coordinator of its cluster. */
export interface CoordinatorClient {
  /**
   * Timestamps. While nobody gives any it asks again for `retryForMs`, then rejects with an `OracleUnavailableError`; with a
   * `CoordinatorError` at once where asking again does not help.
   */
  readonly oracle: GatheredOracle;
  /** Who lives, who works on what, and whether anybody does. */
  readonly cluster: Cluster;
  /** Resolves if the coordinator that leads answers and admits this process; rejects with why not. Does not repeat. */
  check(signal: AbortSignal): Promise<void>;
  /** Leaves the cluster and closes the connection. Whoever waits for timestamps gets a `ClosedError`. Harmless to repeat. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Makes the client of a cluster's coordinator. It connects when it is first asked for something, to whoever leads; follows where
 * that changes; and connects again, by itself, when a connection ends. Throws an `InvalidArgumentError` for options that
 * cannot be meant.
 *
 * ```ts
 * const client = connectCoordinator({ store, environment: systemEnvironment, token });
 * const db = await open(store, { oracle: client.oracle });
 * ```
 */
export function connectCoordinator(options: ConnectOptions): CoordinatorClient {
  checkConnect(options);
  const { environment, store, addresses, attemptMs = 2_000 } = options;
  const discovery =
    addresses === undefined ? leasedAddress(store!, environment, attemptMs) : listedAddresses(addresses);
  const connection = new LeaderConnection({
    environment,
    discovery,
    security: securityOf(options),
    attemptMs,
  });
  const oracle = remoteOracle(connection, options);
  const onFailure = (doing: string, error: unknown) => options.onFailure?.({ doing, error });
  const cluster = new RemoteCluster({ connection, environment, attemptMs, onFailure });
  const check = async (signal: AbortSignal) => {
    const doing = "Asking the coordinator for a sign of life";
    await connection.ask(doing, signal, (channel, bounded) =>
      channel.ask(coordinatorService.alive, [], bounded),
    );
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    await cluster.leave();
    oracle.close();
    connection.close();
  };
  const closeOnce = () => {
    closing ??= close();
    return closing;
  };
  return { oracle, cluster, check, close: closeOnce, [Symbol.asyncDispose]: closeOnce };
}
