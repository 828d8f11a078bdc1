import type { Environment } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { GatheringOptions, LeaderFailure } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import { checkToken } from "../security/admission.js";
import { checkPair } from "../security/certificate.js";
import { credentialsOf } from "../security/client-credentials.js";
import { type ClientTls, securityOf } from "../security/client-security.js";
import { parseAddress } from "../wire/address.js";

/** How to find a cluster's coordinator and speak to it. One of `store` and `addresses` must be given. */
export interface ConnectOptions
  extends Pick<GatheringOptions, "maxAtOnce" | "maxWaiting" | "retryForMs" | "environment"> {
  readonly environment: Environment;
  /** The store of the cluster: the row of the lease names the leader's address. */
  readonly store?: RowStore | undefined;
  /** `HOST:PORT` of each coordinator, at most 100; the leader among them is found by asking. */
  readonly addresses?: readonly string[] | undefined;
  /** TLS; `true` for the defaults. A function is asked for each new connection, so that certificates may change. Default: none. */
  readonly tls?: ClientTls | boolean | (() => ClientTls | undefined) | undefined;
  /** What the coordinator asks for. A function is asked at each call, so that the token may change. */
  readonly token?: string | (() => string | undefined) | undefined;
  /** How long one coordinator may take to answer before it is given up, in milliseconds. Default: 2,000. */
  readonly attemptMs?: number | undefined;
  /** Told of each failure that nobody waits for; what can pass is tried again by itself. Must not throw. */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

const maxAddresses = 100;

/** Refuses options that cannot be meant. */
export function checkConnect(options: ConnectOptions): void {
  const { store, addresses } = options;
  if ((store === undefined) === (addresses === undefined)) {
    throw new InvalidArgumentError(
      "A client of coordinators must be given either `store`, whose lease names the leader, or `addresses`.",
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
    throw new InvalidArgumentError(`\`attemptMs\` must be a number above 0, not ${attemptMs}.`);
  }
  credentialsOf(security);
  if (security.tls?.cert === undefined) return;
  const what = { cert: "tls.cert, --tls-cert FILE", key: "tls.key, --tls-key FILE" };
  checkPair(what, security.tls.cert, security.tls.key, options.environment.now());
}
