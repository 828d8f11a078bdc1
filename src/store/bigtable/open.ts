import { type Environment, systemEnvironment } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import type { RowStore } from "../row-store.js";
import { type AuthClient, findEndpoint } from "./credentials.js";
import { parseLocation } from "./location.js";
import { BigtableStore } from "./store.js";
import { Tables } from "./tables.js";
import { Transport } from "./transport.js";

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
  /** Connections at the most. Bigtable takes 100 requests at a time on each. Default: 4; 1 to an emulator. */
  readonly connections?: number | undefined;
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
 * an emulator. Tables are looked at before they are first used.
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
  const { deadlineMs, retryForMs } = callTimes(options);
  const environment = options.environment ?? systemEnvironment;
  const endpoint = await findEndpoint(options.emulatorHost, options.auth);
  const connections = positive("connections", options.connections ?? (endpoint.emulator ? 1 : 4));
  const { credentials, emulator } = endpoint;
  const transport = new Transport({ address: endpoint.data, credentials, connections });
  const admin = new Transport({ address: endpoint.admin, credentials, connections: 1 });
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

/** How long requests may take, and how long they are made again. */
export function callTimes(options: BigtableStoreOptions): {
  readonly deadlineMs: number;
  readonly retryForMs: number;
} {
  const deadlineMs = positive("deadlineMs", options.deadlineMs ?? 10_000);
  return { deadlineMs, retryForMs: positive("retryForMs", options.retryForMs ?? 6 * deadlineMs) };
}

function positive(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 1) return Math.floor(value);
  throw new InvalidArgumentError(`\`${name}\` must be a number of at least 1, not ${String(value)}.`);
}
