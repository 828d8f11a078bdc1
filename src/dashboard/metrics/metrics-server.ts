import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Coordinator } from "../../coordinator/index.js";
import type { Database } from "../../database/index.js";
import { checkDatabase, InvalidArgumentError } from "../../errors/index.js";
import { currentToken, hasBearer } from "../server/access.js";
import { listenerOf } from "../server/app-listener.js";
import { pathOf, type RunningServer, serveOn } from "../server/listen.js";
import { hostName, isLoopbackHost } from "../server/loopback.js";
import type { TokenSource } from "../server/options.js";
import { coordinatorPages } from "./coordinator-metrics.js";
import { MetricsPages, type MetricsPagesOptions } from "./metrics-pages.js";
import { answerPlain, sendPlain } from "./plain-answer.js";
import type { PlainPages } from "./plain-pages.js";

/** Where the pages are served, and who may read them. */
export interface PlainServerOptions {
  /**
   * Default: 127.0.0.1, which only this machine reaches. Any other host needs a `token` or
   * `insecure`.
   */
  readonly host?: string | undefined;
  /** Default: 0, which takes a free port. */
  readonly port?: number | undefined;
  /**
   * The token that `/metrics` needs, as `Authorization: Bearer TOKEN`. It has at least 16
   * characters. A function is called at each request, so that the token can change. Default: none.
   * `/healthz` and `/readyz` never need a token.
   */
  readonly token?: TokenSource | undefined;
  /**
   * Whether to serve other machines without a token. Use it only in a network in which everyone may
   * read metrics. Default: false.
   */
  readonly insecure?: boolean | undefined;
}

/** A running server of `/metrics`. */
export type MetricsServer = RunningServer;

/** Options of {@link serveMetrics}. */
export interface MetricsServerOptions extends MetricsPagesOptions, PlainServerOptions {}

/**
 * Serves the metrics of a database in this process to Prometheus at `/metrics`, and two probes.
 * `/healthz` answers 200 while the process runs and the database is open. `/readyz` answers 200
 * while transactions are possible. Otherwise it answers 503 and names the part that does not
 * answer. Each page answers within a second, even if the store or the coordinator does not. The
 * server runs until you close it. Close it before the database.
 *
 * @throws InvalidArgumentError if the address is taken or does not belong to this machine, or if
 * other machines can reach it without a token.
 *
 * @example
 * await using metrics = await serveMetrics(db, { port: 9464 });
 */
export async function serveMetrics(db: Database, options: MetricsServerOptions = {}): Promise<MetricsServer> {
  checkDatabase("serveMetrics", db);
  const pages = new MetricsPages(db, options);
  return await servePlain(options, pages.pages, () => pages.close());
}

/**
 * Serves the metrics of a coordinator in this process at `/metrics`, and two probes. `/healthz`
 * answers 200 while the process runs. `/readyz` answers 200 while the coordinator leads or is the
 * standby of a leader, and 503 after its own lease has run out. Runs until it is closed.
 *
 * @throws InvalidArgumentError as `serveMetrics` does.
 */
export async function serveCoordinatorMetrics(
  coordinator: Coordinator,
  options: PlainServerOptions = {},
): Promise<MetricsServer> {
  return await servePlain(options, coordinatorPages(coordinator), () => undefined);
}

/** Serves pages until it is closed. `end` is called when it closes. */
async function servePlain(
  options: PlainServerOptions,
  pages: PlainPages,
  end: () => void,
): Promise<MetricsServer> {
  const { host = "127.0.0.1", port = 0, insecure = false } = options;
  const token = currentToken("metrics", options.token);
  if (token() === undefined && !insecure && !isLoopbackHost(host)) {
    throw new InvalidArgumentError(
      `Metrics at ${host} can be reached from other machines: give a \`token\` (--metrics-token-file), serve them at 127.0.0.1, or give ` +
        "`insecure` (--insecure) if every machine in the network may read them.",
    );
  }
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(async (c, next) => {
    // A hostile page may let its own name resolve to this machine (DNS rebinding).
    const name = hostName(c.env.incoming.headers.host) ?? "";
    if (insecure || token() !== undefined || isLoopbackHost(name)) return await next();
    return sendPlain(c, 421, "Without a token, metrics are for this machine: use 127.0.0.1 or localhost.\n");
  });
  app.use("/metrics", async (c, next) => {
    const needed = token();
    if (needed === undefined || hasBearer(c.env.incoming, needed) === true) return await next();
    c.header("www-authenticate", 'Bearer realm="percolatordb"');
    return sendPlain(c, 401, "Metrics need their token: send Authorization: Bearer TOKEN.\n");
  });
  app.all("*", (c) => answerPlain(c, c.req.path, pages));
  const listener = listenerOf(app);
  return await serveOn({ what: "Metrics", host, port, path: "/metrics", end }, (request, response) => {
    if (pathOf(request) === undefined) response.writeHead(400).end("The request target is not a path.\n");
    else listener(request, response);
  });
}
