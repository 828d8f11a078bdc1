import type { Environment } from "../../environment/index.js";
import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../../errors/index.js";
import type { LeaderFailure, LeaderStatus, SeenLease } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { CoordinatorTls } from "../security/server-certificate.js";
import { type Address, formatAddress, isLoopback, isWildcard, parseAddress } from "../wire/address.js";

/** Options of `startCoordinator`. */
export interface CoordinatorOptions {
  /** The store of the cluster. One of its rows holds the lease. The caller closes the store. */
  readonly store: RowStore;
  readonly environment: Environment;
  /** `HOST:PORT` to listen at. Port 0 takes a free port. Default: `127.0.0.1:0`. */
  readonly listen?: string | undefined;
  /**
   * `HOST:PORT` by which clients reach the coordinator. Default: the address at which it listens.
   */
  readonly advertise?: string | undefined;
  /** Default: no TLS. Listening beyond loopback then needs `insecure`. */
  readonly tls?: CoordinatorTls | undefined;
  /**
   * The token that clients must show. If several are given, the coordinator accepts each of them,
   * so that tokens can be rotated. Beyond loopback, each has at least 16 characters. Default: no token.
   * Listening beyond loopback then needs `insecure`.
   */
  readonly token?: string | readonly string[] | undefined;
  /**
   * Allows listening beyond loopback without TLS or a token. Any process in the network can then
   * take timestamps and end sessions.
   */
  readonly insecure?: boolean | undefined;
  /**
   * Length of the lease, in milliseconds. After a leader has died, the cluster has no leader for
   * about that long. Default: 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How far ahead the leader reserves timestamps, by raising the high-water mark, in milliseconds.
   * Each millisecond stands for 1,000 timestamps. Default: 10,000.
   */
  readonly windowMs?: number | undefined;
  /**
   * @internal
   * The lease that this process saw before: the coordinator does not wait for it again.
   */
  readonly seen?: SeenLease | undefined;
  /** Called after each change of {@link Coordinator.status}. Must not throw. */
  readonly onChange?: ((status: LeaderStatus) => void) | undefined;
  /**
   * Called with each failure in the background. The coordinator retries automatically. Must not
   * throw.
   */
  readonly onFailure?: ((failure: LeaderFailure) => void) | undefined;
}

const optionNames: OptionNames<CoordinatorOptions> = {
  store: true,
  environment: true,
  listen: true,
  advertise: true,
  tls: true,
  token: true,
  insecure: true,
  leaseMs: true,
  windowMs: true,
  seen: true,
  onChange: true,
  onFailure: true,
};

export interface CoordinatorSettings {
  readonly listen: Address;
  readonly advertise: string | undefined;
  readonly tokens: readonly string[];
}

/** Length of a token that nobody guesses, beyond loopback. */
const minToken = 16;

/** Checks the options and fills in defaults. */
export function coordinatorSettings(options: CoordinatorOptions): CoordinatorSettings {
  checkOptionNames("startCoordinator", options, optionNames);
  const listen = parseAddress(options.listen ?? "127.0.0.1:0", "`listen`");
  const tokens = typeof options.token === "string" ? [options.token] : (options.token ?? []);
  const advertise =
    options.advertise === undefined ? undefined : parseAddress(options.advertise, "`advertise`");
  if (isWildcard((advertise ?? listen).host) || advertise?.port === 0) {
    throw new InvalidArgumentError(
      `No client can connect to ${formatAddress(advertise ?? listen)}. Give the HOST:PORT by which clients reach the coordinator ` +
        "with `advertise` (--advertise).",
    );
  }
  if (!isLoopback(listen.host) && options.insecure !== true) {
    const missing = [options.tls === undefined ? "TLS" : "", tokens.length === 0 ? "a token" : ""].filter(
      (each) => each !== "",
    );
    if (missing.length > 0) {
      throw new InvalidArgumentError(
        `A coordinator may not listen beyond this machine (${formatAddress(listen)}) without ${missing.join(" and ")}. Give ` +
          "`tls` (--tls-cert, --tls-key) and `token` (--token-file), or `insecure` (--insecure) if every program in the network may " +
          "disturb the cluster.",
      );
    }
    if (tokens.some((token) => token.length < minToken)) {
      throw new InvalidArgumentError(
        `Beyond this machine, a coordinator's token must have at least ${minToken} characters: make one with "openssl rand -hex 32".`,
      );
    }
  }
  return { listen, advertise: advertise && formatAddress(advertise), tokens };
}
