import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RowStore } from "percolatordb";
import { type PostgresSettings, postgresStore } from "percolatordb/postgres";
import { Pool } from "pg";
import { startPostgres } from "../../../examples/support/postgres-server.js";
import { NetworkProxy } from "../proxy/index.js";
import { folderVariable, hostFile } from "./shared-server.js";

/** Many stores are open at a time, and losing the server's machine is not what is tested here. */
const settings = ["max_connections=400", "fsync=off", "shared_buffers=64MB"];
const lookMs = 50;

/** A place for a new database: a schema of its own on the server that all tests share. */
export interface PostgresPlace {
  /** The socket's folder, as `host` of a connection. */
  readonly host: string;
  readonly schema: string;
  /** For `open`. */
  readonly location: string;
}

let sharedHost: Promise<string> | undefined;
let places = 0;

/** A new place. Starts the server if no test has done so. Fails if PostgreSQL is not installed. */
export async function newPlace(): Promise<PostgresPlace> {
  sharedHost ??= findServer();
  const host = await sharedHost;
  return placeAt(host, `test ${process.pid} "${++places}"`);
}

/** A place on a server of the test's own. */
export function placeAt(host: string, schema: string, user = "postgres"): PostgresPlace {
  const parameters = new URLSearchParams({ host, schema });
  return { host, schema, location: `postgres://${user}@/postgres?${parameters}` };
}

const pools = new Map<string, Pool>();

/**
 * Connections to a server that the stores of this process share, as long as the process runs. A connection is a
 * process of the server, and to start one costs more than what most tests do with it.
 */
function poolOf(host: string): Pool {
  let pool = pools.get(host);
  if (pool === undefined) {
    // A connection keeps the prepared statements and functions of all the schemas that it has seen, so each
    // ends at some time.
    const limits = { max: 12, maxUses: 2_000, idleTimeoutMillis: 30_000, allowExitOnIdle: true };
    pool = new Pool({ host, user: "postgres", database: "postgres", ...limits });
    pool.on("error", () => undefined);
    pools.set(host, pool);
  }
  return pool;
}

/** A store at a place of the shared server, on the connections that all of this process share. */
export function storeAt({ host, schema }: PostgresPlace, settings: PostgresSettings = {}): Promise<RowStore> {
  return postgresStore({ ...settings, pool: poolOf(host), schema });
}

/** Starts a proxy before a server. It listens on `address`. */
export function startProxy(host: string, address?: string): Promise<NetworkProxy> {
  return NetworkProxy.start(socketOf(host), address, "postgres");
}

/** The path of a server's socket. */
export function socketOf(host: string): string {
  return `${host}/.s.PGSQL.5432`;
}

/** The location of a place behind a proxy, or behind another server's `HOST:PORT`. */
export function locationBehind({ address }: { readonly address: string }, schema: string): string {
  return `postgres://postgres@${address}/postgres?${new URLSearchParams({ schema })}`;
}

/** Runs `use` with connections of the superuser. */
export async function withSuperuser<T>(host: string, use: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ host, user: "postgres", database: "postgres", max: 2 });
  // The errors of connections that end with their server. Failed queries reject anyway.
  pool.on("error", () => undefined);
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

/** Removes a place's schema with all that is in it. */
export async function removePlace({ host, schema }: PostgresPlace): Promise<void> {
  const drop = `drop schema if exists "${schema.replaceAll('"', '""')}" cascade`;
  if (host === (await sharedHost)) await poolOf(host).query(drop);
  else await withSuperuser(host, (pool) => pool.query(drop));
}

/** The folder of the server that all test processes of this run share. */
async function findServer(): Promise<string> {
  const folder = process.env[folderVariable];
  if (folder === undefined) throw new Error("The shared server needs vitest's global setup.");
  const file = join(folder, hostFile);
  const failed = join(folder, "failed");
  try {
    await mkdir(join(folder, "lock"));
  } catch {
    // Another test process starts the server.
    while (!existsSync(file)) {
      if (existsSync(failed)) throw new Error(await readFile(failed, "utf8"));
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
    return await readFile(file, "utf8");
  }
  try {
    const { host } = await startPostgres({ settings, outlives: true });
    // As in every version after 14, in which the doctor warns of it.
    await withSuperuser(host, (pool) => pool.query("revoke create on schema public from public"));
    await writeFile(`${file}.new`, host);
    await rename(`${file}.new`, file);
    return host;
  } catch (error) {
    await writeFile(failed, String(error));
    throw error;
  }
}
