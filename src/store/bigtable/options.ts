import type { Environment } from "../../environment/index.js";
import type { AuthClient } from "./wire/auth-client.js";

/** Options of `openBigtableStore`. Each has a default. */
export interface BigtableStoreOptions {
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
  /** Creates missing tables and families, if the account may. Default: true. */
  readonly create?: boolean | undefined;
  /**
   * How long a request may take, in milliseconds. Default: 10,000. If a mutation has no answer by
   * then, its outcome is `unknown`, and the transaction checks whether the store applied the
   * mutation. Keep this time a small part of the retention. If it is longer than `lockTtlMs`, as by
   * default, a lock may expire while its refresh waits for an answer. Another transaction may then roll
   * the commit back, and it is run again.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * How long a read, or a request about tables, is retried after an outage or a missing answer, in
   * milliseconds from its beginning. Each missing answer doubles the time limit of the next
   * attempt. When `retryForMs` is over, the request fails with a `StoreError` that is `retryable`.
   * Default: six times `deadlineMs`, so a minute if `deadlineMs` is not given. The service needs
   * less than a minute to move a tablet or to restart a server. A mutation is never retried.
   */
  readonly retryForMs?: number | undefined;
  /**
   * Whether the reads of one turn of the event loop share a request if they need the same columns
   * at the same timestamp. With `true`, mutations of one turn share a request too if they have no
   * guards. If they need several requests, the wait for the earlier ones counts towards `deadlineMs`.
   * Default: true.
   */
  readonly gather?: boolean | undefined;
  /**
   * The maximum number of connections. Bigtable takes 100 requests at a time on each connection.
   * Default: 4, or 1 to an emulator.
   */
  readonly connections?: number | undefined;
  /**
   * The maximum number of requests about rows in flight, on all connections together. Later
   * requests wait, and the wait counts towards their deadline. Default: 100 for each connection.
   */
  readonly maxInFlight?: number | undefined;
  /**
   * `HOST` or `HOST:PORT` of the service's data API, such as a regional or private endpoint. The
   * default port is 443. The connection always uses TLS. Takes precedence over
   * `BIGTABLE_EMULATOR_HOST`. Default: `bigtable.UNIVERSE`.
   */
  readonly endpoint?: string | undefined;
  /** `HOST` or `HOST:PORT` of the service's admin API. Default: `bigtableadmin.UNIVERSE`. */
  readonly adminEndpoint?: string | undefined;
  /**
   * The universe domain of the endpoints and the credentials. Credentials of another universe are
   * refused. Default: `GOOGLE_CLOUD_UNIVERSE_DOMAIN`, or `googleapis.com`.
   */
  readonly universeDomain?: string | undefined;
  /** `HOST:PORT` of an emulator. Default: `BIGTABLE_EMULATOR_HOST`, or the service. */
  readonly emulatorHost?: string | undefined;
  /** A client of google-auth-library. Default: application default credentials. */
  readonly auth?: AuthClient | undefined;
}
