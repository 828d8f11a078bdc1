import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "pg";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";

/** Runs `use` with a new server. */
export async function withServer<T>(
  settings: readonly string[],
  use: (server: PostgresServer, pool: Pool) => Promise<T>,
): Promise<T> {
  const server = await startPostgres({ settings });
  const pool = new Pool({ host: server.host, user: server.user, database: "postgres", max: 2 });
  // Ignores the errors that idle and closing connections emit when their server ends. Failed queries
  // reject anyway.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  try {
    return await use(server, pool);
  } finally {
    await pool.end();
    await server.stop();
  }
}

/** The version of the servers that are started here. */
export function postgresVersion(): Promise<string> {
  return withServer([], async (_, pool) => {
    const { rows } = await pool.query<{ server_version: string }>("show server_version");
    return rows[0]!.server_version;
  });
}

/** The server's first process, whose children are the others. */
export function postmasterOf({ host }: Pick<PostgresServer, "host">): number {
  return Number(readFileSync(join(host, "data", "postmaster.pid"), "latin1").split("\n")[0]);
}

/** The location of percolatordb's database on a server. */
export function locationOn({ host, user }: PostgresServer): string {
  return `postgres://${user}@/postgres?${new URLSearchParams({ host })}`;
}
