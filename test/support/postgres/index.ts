import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

/** Starts a proxy before a server. */
export function startProxy(host: string): Promise<NetworkProxy> {
  return NetworkProxy.start(socketOf(host), undefined, "postgres");
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
  await withSuperuser(host, (pool) =>
    pool.query(`drop schema if exists "${schema.replaceAll('"', '""')}" cascade`),
  );
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
    await writeFile(`${file}.new`, host);
    await rename(`${file}.new`, file);
    return host;
  } catch (error) {
    await writeFile(failed, String(error));
    throw error;
  }
}
