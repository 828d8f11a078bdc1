import { createServer } from "node:http";
import type { Database } from "../../database/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import { dashboardHandler } from "./handler.js";
import { endServer, listen, originOf } from "./listen.js";
import { isLoopbackHost } from "./loopback.js";
import type { DashboardOptions } from "./options.js";

/** A dashboard that is served. */
export interface DashboardServer {
  /** Where its pages are. */
  readonly url: string;
  /** Ends what is under way, and waits for it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves the dashboard of a database in this process: its pages, what they ask for, `/metrics` and `/healthz`. Lives until it is closed;
 * close it before the database. What transactions do is recorded as long.
 *
 * @throws InvalidArgumentError for a host beyond this machine without a token, an address that is taken or is none of this machine's, and
 * options that cannot be meant.
 *
 * @example
 * await using dashboard = await serveDashboard(db, { port: 4180 });
 * console.log(dashboard.url);
 */
export async function serveDashboard(db: Database, options: DashboardOptions = {}): Promise<DashboardServer> {
  const { host = "127.0.0.1", port = 0, token } = options;
  if (token === undefined && !isLoopbackHost(host)) {
    throw new InvalidArgumentError(
      `A dashboard at ${host} can be reached from other machines: give it a \`token\`, or serve it at 127.0.0.1.`,
    );
  }
  const hosts = [...(options.hosts ?? []), host.includes(":") ? `[${host}]` : host];
  const handler = dashboardHandler(db, { ...options, hosts });
  const server = createServer((request, response) => {
    if (!handler.handle(request, response)) response.writeHead(400).end();
  });
  server.requestTimeout = 30_000;
  server.headersTimeout = 10_000;
  server.maxConnections = 256;
  try {
    await listen(server, "The dashboard", host, port);
  } catch (error) {
    handler.close();
    throw error;
  }
  const close = async () => {
    handler.close();
    await endServer(server);
  };
  return { url: `${originOf(server, host)}/`, close, [Symbol.asyncDispose]: close };
}
