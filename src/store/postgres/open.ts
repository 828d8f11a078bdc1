import { systemEnvironment } from "../../environment/index.js";
import { InvalidArgumentError, withoutPassword } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";
import type { RowStore } from "../row-store.js";
import { type PostgresFacts, readFacts } from "./health/facts.js";
import { parseLocation } from "./location.js";
import type { PostgresSettings, PostgresStoreOptions } from "./options.js";
import { pgPackage } from "./packages.js";
import { PostgresStore } from "./store.js";
import { databaseState, initialize } from "./table/initialize.js";
import { quoteSchema } from "./table/names.js";
import type { PostgresPool } from "./wire/client.js";
import { Connections } from "./wire/connections.js";

const defaultSchema = "percolator";
const defaultConnections = 8;
const defaultDeadlineMs = 10_000;

/**
 * Opens a database in a schema of a PostgreSQL server, version 14 or later, and makes its tables
 * and functions if they are missing. Any number of processes, on any machines, may use it at the
 * same time, without a coordinator. Timestamps follow the server's clock.
 *
 * Needs the package `pg`: `npm install pg`. `open("postgres://...")` of `percolatordb` does the
 * same for a location.
 *
 * @throws InvalidArgumentError if an option is invalid, or if both or neither of `connection` and
 * `pool` are given.
 * @throws MissingPackageError if `pg` is not installed.
 * @throws StoreError if the server cannot be reached, is older than version 14 or refuses, or if
 * there is no database and `create` is false.
 * @throws StoreVersionError if a newer version of this package made the tables.
 *
 * @example
 * const store = await postgresStore({ connection: "postgres://app@localhost/shop", schema: "search" });
 * await using db = await open(store);
 */
export async function postgresStore(options: PostgresStoreOptions): Promise<RowStore> {
  const { durability = "full", readOnly = false } = options;
  if (durability !== "full" && durability !== "none") {
    throw new InvalidArgumentError(
      `\`durability\` must be "full" or "none", not ${describeValue(durability)}.`,
    );
  }
  const { connections, schema } = connect(options);
  try {
    await initialize(connections, schema, { create: !readOnly && (options.create ?? true) });
  } catch (error) {
    await connections.close();
    throw error;
  }
  return new PostgresStore({ connections, schema, isEarly: durability === "none", readOnly });
}

/** Checks the options, and makes the connections' pool. Does not connect yet. */
function connect(options: PostgresStoreOptions): {
  readonly connections: Connections;
  readonly schema: string;
} {
  const { connection, pool } = options;
  if ((connection === undefined) === (pool === undefined)) {
    throw new InvalidArgumentError(
      "`postgresStore` takes either a `connection` or a `pool`. Give one of them.",
    );
  }
  const name = options.schema ?? defaultSchema;
  const schema = quoteSchema(name);
  const deadlineMs = whole("deadlineMs", options.deadlineMs ?? defaultDeadlineMs, 1);
  const most = whole("connections", options.connections ?? defaultConnections, 2);
  const connections = new Connections({
    pool: pool ?? makePool(connection!, most, deadlineMs),
    isOwn: pool === undefined,
    environment: options.environment ?? systemEnvironment,
    deadlineMs,
    prepare: options.prepare ?? true,
    place: placeOf(options, name),
  });
  return { connections, schema };
}

/** Opens the database of a location. An option takes precedence over the location. */
export async function openPostgresStore(
  location: string,
  settings: PostgresSettings = {},
): Promise<RowStore> {
  return await postgresStore(optionsOf(location, settings));
}

/** Looks for a database of any version at a location. Changes nothing. */
export async function findPostgresDatabase(
  location: string,
  settings: PostgresSettings = {},
): Promise<{ readonly state: "there" | "missing" | "older"; readonly description: string }> {
  const { connections, schema } = connect(optionsOf(location, settings));
  try {
    return { state: await databaseState(connections, schema), description: connections.place };
  } finally {
    await connections.close();
  }
}

/**
 * Asks the server of a location about itself, the role and the schema, whether or not there is a
 * database. Changes nothing.
 */
export async function examinePostgres(
  location: string,
  settings: PostgresSettings = {},
): Promise<PostgresFacts> {
  const options = optionsOf(location, settings);
  // One connection asks, and two are compared. None prepares statements, because they may not work here.
  const { connections, schema } = connect({ ...options, prepare: false, connections: 2 });
  try {
    return await readFacts(connections, schema, {
      perProcess: (options.connections ?? defaultConnections) + 1,
      prepares: options.prepare ?? true,
    });
  } finally {
    await connections.close();
  }
}

function optionsOf(location: string, settings: PostgresSettings): PostgresStoreOptions {
  const { connection, ...parameters } = parseLocation(location);
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return { ...parameters, ...Object.fromEntries(given), connection };
}

function makePool(
  connection: string | Readonly<Record<string, unknown>>,
  max: number,
  deadlineMs: number,
): PostgresPool {
  const { Pool } = pgPackage();
  const where = typeof connection === "string" ? { connectionString: connection } : connection;
  return new Pool({
    application_name: "percolatordb",
    // Without it, a server that accepts a connection and never answers would keep the pool from ending.
    // A longer time would be no time.
    connectionTimeoutMillis: Math.min(deadlineMs, 2 ** 31 - 1),
    ...where,
    // One more, which listens.
    max: max + 1,
    allowExitOnIdle: true,
  });
}

function placeOf({ connection }: PostgresStoreOptions, schema: string): string {
  if (connection === undefined) return `postgres pool, schema ${JSON.stringify(schema)}`;
  const query = `schema=${encodeURIComponent(schema)}`;
  if (typeof connection === "string") {
    const place = withoutPassword(connection);
    return `${place}${place.includes("?") ? "&" : "?"}${query}`;
  }
  const { host, port, database } = connection;
  const of = (value: unknown, before: string) =>
    typeof value === "string" || typeof value === "number" ? `${before}${value}` : "";
  return `postgres://${of(host, "")}${of(port, ":")}/${of(database, "")}?${query}`;
}

function whole(name: string, value: number, least: number): number {
  if (Number.isFinite(value) && value >= least) return Math.floor(value);
  throw new InvalidArgumentError(
    `\`${name}\` must be a number of at least ${least}, not ${describeValue(value)}.`,
  );
}
