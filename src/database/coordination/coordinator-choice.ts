import type { ClientTls, CoordinatorTls } from "../../coordinator/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { Oracle } from "../../oracle/index.js";
import { describeValue } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";

type TokenChoice = string | readonly string[];

/** How a database finds the coordinator of its cluster, and whether it starts one. */
export interface CoordinatorChoice {
  /** `HOST:PORT` of each coordinator. Default: found by the lease in the store. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * Whether to start a coordinator inside this process if none leads, now or later. Closing the
   * database stops that coordinator. Not together with `addresses`. Default: false.
   */
  readonly start?: boolean | undefined;
  /**
   * The token that the coordinator asks for. Give several while you replace the token. This process
   * sends the first one, and a coordinator started here accepts any of them. If you give a
   * function, it is called for each request, so the token may change. Default: none.
   */
  readonly token?: TokenChoice | (() => TokenChoice | undefined) | undefined;
  /**
   * TLS for the connection; `true` for the defaults of Node. If you give a function, it is called
   * for each new connection, so certificates may change. Default: none.
   */
  readonly tls?: ClientTls | boolean | (() => ClientTls | undefined) | undefined;
  /**
   * For a coordinator started here: the `HOST:PORT` to listen on. Default: a free port of
   * `127.0.0.1`, which serves one machine.
   */
  readonly listen?: string | undefined;
  /**
   * For a coordinator started here: the `HOST:PORT` by which other processes reach it. Default: the
   * address that it listens on.
   */
  readonly advertise?: string | undefined;
  /**
   * For a coordinator started here: its certificate. Listening beyond this machine needs it, and a
   * token. Give `tls` too, because this process is a client of the coordinator. If you give a
   * function, it is called every second, so the certificate may change.
   */
  readonly serverTls?: CoordinatorTls | (() => CoordinatorTls) | undefined;
  /** For a coordinator started here: the length of its lease, in milliseconds. Default: 10,000. */
  readonly leaseMs?: number | undefined;
}

/**
 * The `coordinator` option of `open`: addresses, `"auto"` for {@link CoordinatorChoice.start},
 * `false` for none, or a {@link CoordinatorChoice}.
 */
export type CoordinatorOption = string | readonly string[] | "auto" | false | CoordinatorChoice;

/**
 * Converts the option to a choice, or to undefined for none. Throws an `InvalidArgumentError` if it
 * is invalid.
 */
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
      "`coordinator` takes either the `addresses` of coordinators, or `start`, which starts one in this process. Leave out one of them.",
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
    '`coordinator` must be "auto", `false`, `HOST:PORT`, a list of those, or an object with options, not ' +
      `${describeValue(option)}.`,
  );
}

/** Returns the current tokens. This process sends the first. */
export function tokensOf({ token }: Pick<CoordinatorChoice, "token">): readonly string[] {
  const given = typeof token === "function" ? token() : token;
  return typeof given === "string" ? [given] : (given ?? []);
}

/**
 * Returns the choice for the option, or the default if the option is not given. By default, a
 * database uses its cluster's coordinator only if its store assigns no timestamps and the program
 * gives no `oracle`.
 */
export function chooseCoordinator(
  store: RowStore,
  option: CoordinatorOption | undefined,
  oracle: Oracle | undefined,
): CoordinatorChoice | undefined {
  if (option === undefined && store.atomic === undefined && oracle === undefined) return {};
  return coordinatorChoice(option);
}
