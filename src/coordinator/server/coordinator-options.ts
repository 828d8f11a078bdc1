import type { Environment } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { LeaderFailure, LeaderStatus } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { CoordinatorTls } from "../security/server-certificate.js";
import { type Address, formatAddress, isLoopback, isWildcard, parseAddress } from "../wire/address.js";

/** Options of `startCoordinator`. */
export interface CoordinatorOptions {
  /** The store of the cluster. One of its rows holds the lease. The caller closes the store. */
  readonly store: RowStore;
  readonly environment: Environment;
  /** `HOST:PORT` to listen at; port 0 takes a free one. Default: `127.0.0.1:0`. */
  readonly listen?: string | undefined;
  /** `HOST:PORT` by which clients reach it. Default: the address that it listens at. */
  readonly advertise?: string | undefined;
  /** Default: none, which is refused beyond loopback. */
  readonly tls?: CoordinatorTls | undefined;
  /**
   * The token that clients must show. Of several, each one is accepted, so that tokens can be
   * rotated. Default: none, which is refused beyond loopback.
   */
  readonly token?: string | readonly string[] | undefined;
  /**
   * Allows listening beyond loopback without TLS or a token. Then everyone in the network can take
   * timestamps and end sessions.
   */
  readonly insecure?: boolean | undefined;
  /**
   * Length of the lease, in milliseconds. After a leader has died, the cluster has no leader for
   * about that long. Default: 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How far ahead the high-water mark is raised, in milliseconds: 1,000 timestamps each. Default:
   * 10,000.
   */
  readonly windowMs?: number | undefined;
  /** Called after each change of {@link Coordinator.status}. Must not throw. */
  readonly onChange?: ((status: LeaderStatus) => void) | undefined;
  /** Called with each failure in the background, which is retried automatically. Must not throw. */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

export interface CoordinatorSettings {
  readonly listen: Address;
  readonly advertise: string | undefined;
  readonly tokens: readonly string[];
}

/** Checks the options and fills in defaults. */
export function coordinatorSettings(options: CoordinatorOptions): CoordinatorSettings {
  const listen = parseAddress(options.listen ?? "127.0.0.1:0", "`listen`");
  const tokens = typeof options.token === "string" ? [options.token] : (options.token ?? []);
  const advertise =
    options.advertise === undefined
      ? undefined
      : formatAddress(parseAddress(options.advertise, "`advertise`"));
  if (advertise === undefined && isWildcard(listen.host)) {
    throw new InvalidArgumentError(
      `A coordinator that listens at all addresses (${formatAddress(listen)}) must be told with \`advertise\` by which HOST:PORT ` +
        "clients reach it.",
    );
  }
  if (!isLoopback(listen.host) && options.insecure !== true) {
    const missing = [options.tls === undefined ? "TLS" : "", tokens.length === 0 ? "a token" : ""].filter(
      (each) => each !== "",
    );
    if (missing.length > 0) {
      throw new InvalidArgumentError(
        `A coordinator does not listen beyond this machine (${formatAddress(listen)}) without ${missing.join(" and ")}: give ` +
          "`tls` (--tls-cert, --tls-key) and `token` (--token-file), or `insecure` (--insecure) if every program in the network may " +
          "disturb the cluster.",
      );
    }
  }
  return { listen, advertise, tokens };
}
