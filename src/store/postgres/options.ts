import type { Environment } from "../../environment/index.js";
import type { PostgresPool } from "./wire/client.js";

/** Options of `postgresStore` that a location does not already say. Each has a default. */
export interface PostgresSettings {
  /**
   * The schema that holds the database: its tables, functions and nothing else. A server's database
   * can hold several. Default: `percolator`.
   */
  readonly schema?: string | undefined;
  /**
   * When a commit is answered. `"full"`: when it is on the server's disk. `"none"`: when the server
   * has committed it, which is before the flush. If the server crashes, commits of the last second
   * may then be lost, but never a part of one. Other processes may have read them. Default: `"full"`.
   */
  readonly durability?: "full" | "none" | undefined;
  /** Whether to make missing tables and functions. Default: true, unless `readOnly`. */
  readonly create?: boolean | undefined;
  /** Refuses to write, and to make missing tables. Default: false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Whether connections prepare statements under a name. Set it to false behind a PgBouncer in
   * transaction mode that does not know prepared statements. Default: true.
   */
  readonly prepare?: boolean | undefined;
  /**
   * The most connections, if the store makes them itself. At least 2. While a worker runs, and once a
   * live query, a watch, a feed or `db.settled` was used, there is one more, which listens for other
   * processes' commits. Default: 8.
   */
  readonly connections?: number | undefined;
  /**
   * How long a request may take, with all its attempts, in milliseconds. Default: 10,000. Reads are
   * repeated until then if the server restarts. A commit without an answer is then looked up for as
   * long again.
   */
  readonly deadlineMs?: number | undefined;
  /** Time, randomness and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/** The options of `postgresStore`: where the server is, and how to use it. */
export interface PostgresStoreOptions extends PostgresSettings {
  /**
   * Where the server is: `postgres://USER@HOST:PORT/DATABASE`, or the settings of a `Client` of
   * `pg`, such as `{ host, port, user, password, database, ssl }`. The environment variables
   * `PGHOST`, `PGUSER` and so on stand for what is missing.
   */
  readonly connection?: string | Readonly<Record<string, unknown>> | undefined;
  /**
   * A `Pool` of `pg` to use instead of own connections. It must allow at least 2 connections, and
   * one more if a worker runs or something follows commits. The program ends it after it has closed the
   * store.
   */
  readonly pool?: PostgresPool | undefined;
}
