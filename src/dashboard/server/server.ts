import type { Database } from "../../database/index.js";
import { checkDatabase, InvalidArgumentError } from "../../errors/index.js";
import { dashboardHandler } from "./handler.js";
import { type RunningServer, serveOn } from "./listen.js";
import { isLoopbackHost } from "./loopback.js";
import type { DashboardOptions } from "./options.js";

/** A running dashboard. */
export type DashboardServer = RunningServer;

/**
 * Serves the dashboard of a database in this process: its pages, their API, `/metrics` and
 * `/healthz`. It records transactions until it is closed. Close it before the database.
 *
 * @throws InvalidArgumentError if other machines can reach the host and there is no token, if the
 * address is taken or does not belong to this machine, or if an option is invalid.
 *
 * @example
 * await using dashboard = await serveDashboard(db, { port: 4180 });
 * console.log(dashboard.url);
 */
export async function serveDashboard(db: Database, options: DashboardOptions = {}): Promise<DashboardServer> {
  checkDatabase("serveDashboard", db);
  const { host = "127.0.0.1", port = 0, token } = options;
  if (token === undefined && !isLoopbackHost(host)) {
    throw new InvalidArgumentError(
      `A dashboard at ${host} can be reached from other machines. Give it a \`token\`, or serve it at 127.0.0.1.`,
    );
  }
  const hosts = [...(options.hosts ?? []), host.includes(":") ? `[${host}]` : host];
  const handler = dashboardHandler(db, { ...options, hosts });
  const end = () => handler.close();
  return await serveOn({ what: "The dashboard", host, port, path: "/", end }, (request, response) => {
    if (!handler.handle(request, response)) response.writeHead(400).end();
  });
}
