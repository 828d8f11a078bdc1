import type { Environment } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { LeaderFailure, LeaderStatus } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { CoordinatorTls } from "../security/server-certificate.js";
import { type Address, formatAddress, isLoopback, isWildcard, parseAddress } from "../wire/address.js";

/** What a coordinator is made of. */
export interface CoordinatorOptions {
  /** The store of the cluster; a row of it holds the lease. It stays the caller's to close. */
  readonly store: RowStore;
  readonly environment: Environment;
  /** `HOST:PORT` to listen at; port 0 takes a free one. Default: `127.0.0.1:0`. */
  readonly listen?: string | undefined;
  /** `HOST:PORT` by which clients reach it, where that is not where it listens. */
  readonly advertise?: string | undefined;
  /** Default: none, which is refused beyond loopback. */
  readonly tls?: CoordinatorTls | undefined;
  /** What clients must show: one token, or any of several while they are changed. Default: none, which is refused beyond loopback. */
  readonly token?: string | readonly string[] | undefined;
  /** Listens beyond loopback without TLS or a token too: in a network where everybody may take timestamps and end sessions. */
  readonly insecure?: boolean | undefined;
  /** Length of the lease, in milliseconds: about as long does nobody lead after a leader has died. Default: 10,000. */
  readonly leaseMs?: number | undefined;
  /** How far the high-water mark is raised ahead, in milliseconds: 1,000 timestamps each. Default: 10,000. */
  readonly windowMs?: number | undefined;
  /** Told of each change of {@link Coordinator.status}. Must not throw. */
  readonly onChange?: ((status: LeaderStatus) => void) | undefined;
  /** Told of each failure in the background; it is tried again by itself. Must not throw. */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

export interface CoordinatorSettings {
  readonly listen: Address;
  readonly advertise: string | undefined;
  readonly tokens: readonly string[];
}

/** Refuses options that cannot be meant. */
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
          "`tls` (--tls-cert, --tls-key) and `token` (--token-file), or `insecure` (--insecure) where everybody in the network may " +
          "disturb the cluster.",
      );
    }
  }
  return { listen, advertise, tokens };
}
