import { type Environment, systemEnvironment } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { RowStore } from "../row-store.js";
import { type BigtableLocation, parseLocation } from "./location.js";
import { BigtableStore } from "./store.js";
import { Tables } from "./table/tables.js";
import { type AuthClient, type Endpoint, findEndpoint } from "./wire/credentials.js";
import { Transport } from "./wire/transport.js";

/** What {@link openBigtableStore} takes. Everything has a default. */
export interface BigtableStoreOptions {
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
  /** Makes tables and families that are missing, where the account may. Default: true. */
  readonly create?: boolean | undefined;
  /**
   * How long a request may take, in milliseconds. Default: 10,000. A mutation that was not answered by then is `unknown`: it
   * may have been applied, and the transaction finds out. Let it be shorter than locks live where their owners should notice
   * first, and a small part of the retention always.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * How long after its beginning a read, or a request about tables, is still made again that was not answered in time, or failed
   * in a way that may pass, in milliseconds. After each that was not answered the next one gets twice as long. Then it fails with a
   * `StoreError` that is `retryable`. Default: six times `deadlineMs`, a minute: longer than the service takes to move a tablet or
   * to restart a server. A mutation is never made again.
   */
  readonly retryForMs?: number | undefined;
  /**
   * Whether reads of one turn of the event loop that ask for the same columns at the same timestamp are sent as one
   * request, and mutations without guards as another. Default: true.
   */
  readonly gather?: boolean | undefined;
  /** The most connections. Bigtable takes 100 requests at a time on each. Default: 4; 1 to an emulator. */
  readonly connections?: number | undefined;
  /**
   * The most requests about rows that are under way at a time, on all connections together. Further ones wait for their turn, and
   * the wait counts in their deadline. Default: 100 for each connection.
   */
  readonly maxInFlight?: number | undefined;
  /**
   * `HOST` or `HOST:PORT` of the service's data API, such as that of a region or of a private connection; the port is 443 if none is given.
   * Counts before `BIGTABLE_EMULATOR_HOST`. Always TLS. Default: `bigtable.UNIVERSE`.
   */
  readonly endpoint?: string | undefined;
  /** The same of the service's admin API. Default: `bigtableadmin.UNIVERSE`. */
  readonly adminEndpoint?: string | undefined;
  /**
   * The universe domain that the endpoints and credentials are of. Credentials of another one are refused. Default: what
   * `GOOGLE_CLOUD_UNIVERSE_DOMAIN` says; without it, `googleapis.com`.
   */
  readonly universeDomain?: string | undefined;
  /** `HOST:PORT` of an emulator. Default: what `BIGTABLE_EMULATOR_HOST` says; without it, the service. */
  readonly emulatorHost?: string | undefined;
  /** A client of google-auth-library. Default: application default credentials. */
  readonly auth?: AuthClient | undefined;
}

/** Tables are looked at once; that may take longer than a request to rows. */
const lookingMs = 10_000;

/**
 * Opens a database on Cloud Bigtable, at `bigtable://PROJECT/INSTANCE?prefix=PREFIX&profile=APP_PROFILE`. Credentials are
 * found Google's way: `GOOGLE_APPLICATION_CREDENTIALS`, those of `gcloud`, the metadata server; `BIGTABLE_EMULATOR_HOST` names
 * an emulator. Tables are looked at before they are first used. Each option that is a number or a text, apart from `emulatorHost`, may
 * stand in the location instead: `&connections=8&deadlineMs=5000`. An option that is given here counts before the location.
 *
 * Fails with a `StoreError` where there are no credentials or the app profile is not one to use, and, when a table is first
 * used, where that has collection rules or cannot be made; each says what to do.
 *
 * @example
 * const store = await openBigtableStore("bigtable://my-project/my-instance?prefix=search");
 */
export async function openBigtableStore(
  location: string,
  options: BigtableStoreOptions = {},
): Promise<RowStore> {
  const place = parseLocation(location);
  const { deadlineMs, retryForMs, endpoint, connections, maxInFlight } = await settle(place, options);
  const environment = options.environment ?? systemEnvironment;
  const { credentials, emulator } = endpoint;
  const transport = new Transport({ address: endpoint.data, credentials, connections, maxInFlight });
  const admin = adminTransport(endpoint);
  const tables = new Tables({
    location: place,
    admin,
    emulator,
    create: options.create ?? true,
    environment,
    deadlineMs: Math.max(deadlineMs, lookingMs),
    retryForMs: Math.max(retryForMs, lookingMs),
  });
  const gather = options.gather ?? true;
  const store = new BigtableStore({
    place,
    transport,
    admin,
    tables,
    environment,
    gather,
    deadlineMs,
    retryForMs,
    emulator,
  });
  try {
    await tables.checkProfile();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** The options and the location's parameters, with their defaults. */
export async function settle(
  { client }: BigtableLocation,
  options: BigtableStoreOptions,
): Promise<{
  readonly deadlineMs: number;
  readonly retryForMs: number;
  readonly endpoint: Endpoint;
  readonly connections: number;
  readonly maxInFlight: number | undefined;
}> {
  const deadlineMs = positive("deadlineMs", options.deadlineMs ?? client.deadlineMs ?? 10_000);
  const retryForMs = positive("retryForMs", options.retryForMs ?? client.retryForMs ?? 6 * deadlineMs);
  const endpoint = await findEndpoint({
    emulatorHost: options.emulatorHost,
    auth: options.auth,
    endpoint: options.endpoint ?? client.endpoint,
    adminEndpoint: options.adminEndpoint ?? client.adminEndpoint,
    universeDomain: options.universeDomain ?? client.universeDomain,
  });
  const usual = endpoint.emulator ? 1 : 4;
  const connections = positive("connections", options.connections ?? client.connections ?? usual);
  const most = options.maxInFlight ?? client.maxInFlight;
  const maxInFlight = most === undefined ? undefined : positive("maxInFlight", most);
  return { deadlineMs, retryForMs, endpoint, connections, maxInFlight };
}

/** Requests about tables are few: they share a connection. */
export function adminTransport({ admin: address, credentials }: Endpoint): Transport {
  return new Transport({ address, credentials, connections: 1 });
}

function positive(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 1) return Math.floor(value);
  throw new InvalidArgumentError(`\`${name}\` must be a number of at least 1, not ${String(value)}.`);
}
