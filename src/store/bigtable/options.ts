import type { Environment } from "../../environment/index.js";
import type { AuthClient } from "./wire/auth-client.js";

/** What `openBigtableStore` takes. Everything has a default. */
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
