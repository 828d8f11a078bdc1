import type { Environment } from "../../environment/index.js";
import type { AuthClient } from "./wire/auth-client.js";

/** Options of `openBigtableStore`. Each has a default. */
export interface BigtableStoreOptions {
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
  /** Creates missing tables and families, if the account may. Default: true. */
  readonly create?: boolean | undefined;
  /**
   * How long a request may take, in milliseconds. Default: 10,000. A mutation without an answer by
   * then is `unknown`: it may have been applied, and the transaction finds out. Keep it a small
   * part of the retention, and shorter than the lifetime of a lock if owners should notice first.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * How long a read, or a request about tables, is retried after an outage or a missing answer, in
   * milliseconds from its beginning. After each missing answer the next try gets twice the time. At
   * the end it fails with a `StoreError` that is `retryable`. Default: six times `deadlineMs`, a
   * minute: longer than the service takes to move a tablet or to restart a server. A mutation is
   * never retried.
   */
  readonly retryForMs?: number | undefined;
  /**
   * Whether reads of one turn of the event loop for the same columns at the same timestamp share a
   * request, and mutations without guards another. Default: true.
   */
  readonly gather?: boolean | undefined;
  /**
   * The maximum number of connections. Bigtable takes 100 requests at a time on each. Default: 4; 1
   * to an emulator.
   */
  readonly connections?: number | undefined;
  /**
   * The maximum number of requests about rows in flight, on all connections together. Later
   * requests wait, and the wait counts towards their deadline. Default: 100 for each connection.
   */
  readonly maxInFlight?: number | undefined;
  /**
   * `HOST` or `HOST:PORT` of the service's data API, such as a regional or private endpoint. The
   * default port is 443. Always TLS. Takes precedence over `BIGTABLE_EMULATOR_HOST`. Default:
   * `bigtable.UNIVERSE`.
   */
  readonly endpoint?: string | undefined;
  /** The same of the service's admin API. Default: `bigtableadmin.UNIVERSE`. */
  readonly adminEndpoint?: string | undefined;
  /**
   * The universe domain of the endpoints and the credentials. Credentials of another one are
   * refused. Default: `GOOGLE_CLOUD_UNIVERSE_DOMAIN`, or `googleapis.com`.
   */
  readonly universeDomain?: string | undefined;
  /** `HOST:PORT` of an emulator. Default: `BIGTABLE_EMULATOR_HOST`, or the service. */
  readonly emulatorHost?: string | undefined;
  /** A client of google-auth-library. Default: application default credentials. */
  readonly auth?: AuthClient | undefined;
}
