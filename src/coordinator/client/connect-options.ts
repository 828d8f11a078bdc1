import type { Environment } from "../../environment/index.js";
import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../../errors/index.js";
import type { GatheringOptions, LeaderFailure } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import { checkToken } from "../security/admission.js";
import { checkPair } from "../security/certificate.js";
import { credentialsOf } from "../security/client-credentials.js";
import { type ClientTls, securityOf } from "../security/client-security.js";
import { parseAddress } from "../wire/address.js";

/**
 * Options of `connectCoordinator`: how to find the coordinator of a cluster and how to talk to it.
 * `store`, `addresses` or both must be given.
 */
export interface ConnectOptions
  extends Pick<GatheringOptions, "maxAtOnce" | "maxWaiting" | "retryForMs" | "environment"> {
  readonly environment: Environment;
  /**
   * The store of the cluster. The lease in it names the leader's address, and the client refuses a
   * coordinator of another database.
   */
  readonly store?: RowStore | undefined;
  /**
   * `HOST:PORT` of each coordinator, at most 100. The client asks them which one leads, instead of
   * the lease. Without `store` it cannot tell whether they serve its database.
   */
  readonly addresses?: readonly string[] | undefined;
  /**
   * TLS, or `true` for its defaults. A function is called for each new connection, so that
   * certificates can be replaced. Default: no TLS.
   */
  readonly tls?: ClientTls | boolean | (() => ClientTls | undefined) | undefined;
  /**
   * The token of the coordinator. A function is called for each request, so that the token can be
   * replaced.
   */
  readonly token?: string | (() => string | undefined) | undefined;
  /**
   * How long one coordinator may take to answer before the client tries the next, in milliseconds.
   * Default: 2,000.
   */
  readonly attemptMs?: number | undefined;
  /**
   * Called with each failure in the background. If a retry may help, the client retries
   * automatically. Must not throw.
   */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

const optionNames: OptionNames<ConnectOptions> = {
  environment: true,
  store: true,
  addresses: true,
  tls: true,
  token: true,
  attemptMs: true,
  retryForMs: true,
  maxAtOnce: true,
  maxWaiting: true,
  onFailure: true,
};
const maxAddresses = 100;

/** Checks the options. */
export function checkConnect(options: ConnectOptions): void {
  checkOptionNames("connectCoordinator", options, optionNames);
  const { store, addresses } = options;
  if (store === undefined && addresses === undefined) {
    throw new InvalidArgumentError(
      "A coordinator client needs `store`, whose lease names the leader, or `addresses`. Give one of them, or both.",
    );
  }
  if (addresses !== undefined && (addresses.length < 1 || addresses.length > maxAddresses)) {
    throw new InvalidArgumentError(
      `\`addresses\` must name 1 to ${maxAddresses} coordinators, not ${addresses.length}.`,
    );
  }
  for (const address of addresses ?? []) parseAddress(address, "One of `addresses`");
  const security = securityOf(options);
  if (security.token !== undefined) checkToken(security.token);
  const { attemptMs } = options;
  if (attemptMs !== undefined && !(attemptMs > 0 && attemptMs <= 3_600_000)) {
    throw new InvalidArgumentError(
      `\`attemptMs\` must be a number above 0 and at most 3,600,000 (an hour), not ${attemptMs}.`,
    );
  }
  credentialsOf(security);
  if (security.tls?.cert === undefined) return;
  const what = { cert: "tls.cert, --tls-cert FILE", key: "tls.key, --tls-key FILE" };
  checkPair(what, security.tls.cert, security.tls.key, options.environment.now());
}
