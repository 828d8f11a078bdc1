import type { ClientTls, CoordinatorTls } from "../coordinator/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import type { Oracle } from "../oracle/index.js";
import { describeValue } from "../schema/index.js";
import type { RowStore } from "../store/index.js";

type TokenChoice = string | readonly string[];

/** How a database finds the coordinator of its cluster, and whether it starts one. */
export interface CoordinatorChoice {
  /** `HOST:PORT` of each coordinator. Default: found by the lease in the store. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * Starts a coordinator inside this process where nobody leads, and where nobody has led for a while; it ends with the
   * database. Default: false.
   */
  readonly start?: boolean | undefined;
  /**
   * What the coordinator asks for. Several while tokens are changed: this process shows the first, and a coordinator that is started here takes
   * any of them. A function is asked at each call, so that the token may change.
   */
  readonly token?: TokenChoice | (() => TokenChoice | undefined) | undefined;
  /** TLS; `true` for the defaults. A function is asked for each new connection, so that certificates may change. Default: none. */
  readonly tls?: ClientTls | boolean | (() => ClientTls | undefined) | undefined;
  /** Of one that is started here: `HOST:PORT` to listen at. Default: a free port of `127.0.0.1`, for one machine. */
  readonly listen?: string | undefined;
  /** Of one that is started here: `HOST:PORT` by which the other processes reach it. */
  readonly advertise?: string | undefined;
  /**
   * Of one that is started here: its certificate. Needed, with a token, to listen beyond this machine; `tls` must be given too, for this process
   * speaks with the coordinator as the others do. A function is asked every second, so that the certificate may change.
   */
  readonly serverTls?: CoordinatorTls | (() => CoordinatorTls) | undefined;
  /** Of one that is started here: length of its lease, in milliseconds. Default: 10,000. */
  readonly leaseMs?: number | undefined;
}

/** What `open` takes: addresses, `"auto"` for {@link CoordinatorChoice.start}, `false` for none, or the choice itself. */
export type CoordinatorOption = string | readonly string[] | "auto" | false | CoordinatorChoice;

/** The choice that an option stands for; undefined for none. Throws an `InvalidArgumentError` where it cannot be meant. */
export function coordinatorChoice(option: CoordinatorOption | undefined): CoordinatorChoice | undefined {
  if (option === undefined || option === false) return undefined;
  if (option === "auto") return { start: true };
  if (typeof option === "string") return { addresses: checkAddresses(option.split(",")) };
  if (isList(option)) return { addresses: checkAddresses(option) };
  if (typeof option !== "object" || option === null) throw notMeant(option);
  const { addresses, start } = option;
  if (addresses === undefined) return option;
  if (start) {
    throw new InvalidArgumentError(
      "A `coordinator` is either found at its `addresses` or started here (`start`): leave one of both out.",
    );
  }
  return { ...option, addresses: checkAddresses(addresses) };
}

function isList(option: readonly string[] | CoordinatorChoice): option is readonly string[] {
  return Array.isArray(option);
}

function checkAddresses(addresses: readonly string[]): readonly string[] {
  const trimmed = addresses.map((address) => (typeof address === "string" ? address.trim() : address));
  if (trimmed.length > 0 && trimmed.every((address) => typeof address === "string" && address !== ""))
    return trimmed;
  throw notMeant(addresses);
}

function notMeant(option: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    '`coordinator` must be "auto", `false`, `HOST:PORT`, a list of those, or an object with its choices, not ' +
      `${describeValue(option)}.`,
  );
}

/** The tokens of this moment, the one to be shown first. */
export function tokensOf({ token }: Pick<CoordinatorChoice, "token">): readonly string[] {
  const given = typeof token === "function" ? token() : token;
  return typeof given === "string" ? [given] : (given ?? []);
}

/** What is chosen where nothing is said: a store that cannot count, and is given no oracle, looks for its cluster's. */
export function chooseCoordinator(
  store: RowStore,
  option: CoordinatorOption | undefined,
  oracle: Oracle | undefined,
): CoordinatorChoice | undefined {
  if (option === undefined && store.atomic === undefined && oracle === undefined) return {};
  return coordinatorChoice(option);
}
