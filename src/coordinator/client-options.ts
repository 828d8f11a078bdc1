import { ChannelCredentials } from "@grpc/grpc-js";
import type { Environment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { GatheringOptions, LeaderFailure } from "../oracle/index.js";
import type { RowStore } from "../store/index.js";
import { parseAddress } from "./address.js";
import { checkToken } from "./admission.js";
import { checkPair } from "./certificate.js";
import { optionalPem, type Pem } from "./pem.js";

/** TLS at the client's side. */
export interface ClientTls {
  /** Authorities that the coordinator's certificate may come from. Default: those that Node trusts. */
  readonly ca?: Pem | undefined;
  /** The client's own certificate and its key, where the coordinator asks for one. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
  /** The name that the coordinator's certificate has, where it is not the one in its address. */
  readonly serverName?: string | undefined;
}

/** How a client shows who it is, and knows whom it speaks to, at the moment: files may change while it runs. */
export interface Security {
  readonly tls: ClientTls | undefined;
  readonly token: string | undefined;
}

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

export function securityOf({ tls, token }: Pick<ConnectOptions, "tls" | "token">): Security {
  return {
    get tls() {
      const given = typeof tls === "function" ? tls() : tls;
      return given === true ? {} : given === false ? undefined : given;
    },
    get token() {
      return typeof token === "function" ? token() : token;
    },
  };
}

export function credentialsOf({ tls }: Security): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  const pems = pemsOf(tls);
  try {
    return ChannelCredentials.createSsl(...pems);
  } catch (cause) {
    throw new InvalidArgumentError(
      "The client's certificates cannot be used: they must be PEM, `cert` with its `key`.",
      { cause },
    );
  }
}

/** Authorities, key and certificate. */
export function pemsOf({ ca, key, cert }: ClientTls): [Buffer | null, Buffer | null, Buffer | null] {
  return [optionalPem("tls.ca", ca), optionalPem("tls.key", key), optionalPem("tls.cert", cert)];
}
