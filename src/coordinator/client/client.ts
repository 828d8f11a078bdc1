import type { Cluster } from "../../observer/index.js";
import type { GatheredOracle } from "../../oracle/index.js";
import { securityOf } from "../security/client-security.js";
import { coordinatorService } from "../wire/service.js";
import { type ConnectOptions, checkConnect } from "./connect-options.js";
import { discoveryOf } from "./discovery.js";
import { LeaderConnection } from "./leader-connection.js";
import { RemoteCluster } from "./remote-cluster.js";
import { remoteOracle } from "./remote-oracle.js";

/** A process's connection to the coordinator of its cluster. */
export interface CoordinatorClient {
  /**
   * The source of timestamps. If no coordinator gives out timestamps, the oracle retries for
   * `retryForMs` and then rejects with an `OracleUnavailableError`. If a retry cannot help, the
   * oracle rejects at once with a `CoordinatorError`.
   */
  readonly oracle: GatheredOracle;
  /** Which sessions are alive, what they work on, and whether any of them is busy. */
  readonly cluster: Cluster;
  /**
   * Resolves if the leader answers and admits this process. Otherwise rejects with the reason,
   * without a retry.
   */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Leaves the cluster and closes the connection. Callers that wait for timestamps get a
   * `ClosedError`. Calling it again has no effect.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Makes a client for the coordinator of a cluster. The client connects to the leader at the first
 * request. It reconnects automatically, also when another coordinator becomes the leader. Throws an
 * `InvalidArgumentError` if an option makes no sense.
 *
 * ```ts
 * const client = connectCoordinator({ store, environment: systemEnvironment, token });
 * const db = await open(store, { oracle: client.oracle });
 * ```
 */
export function connectCoordinator(options: ConnectOptions): CoordinatorClient {
  checkConnect(options);
  const { environment, store, addresses, attemptMs = 2_000 } = options;
  const discovery = discoveryOf({ store, addresses, environment, timeoutMs: attemptMs });
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
    const doing = "Asking the coordinator whether it answers";
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
