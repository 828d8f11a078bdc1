import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import type { Coordinator } from "../../coordinator/index.js";
import type { Database } from "../../database/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import { currentToken, hasBearer, type TokenSource } from "../server/access.js";
import { answer } from "../server/answers.js";
import { listenerOf, pathOf, type RunningServer, serveOn } from "../server/listen.js";
import { isLoopbackHost } from "../server/loopback.js";
import { coordinatorPages } from "./coordinator-metrics.js";
import { MetricsPages, type MetricsPagesOptions } from "./metrics-pages.js";
import type { PlainPages } from "./plain-pages.js";

/** Where pages are served, and to whom. */
export interface PlainServerOptions {
  /** Default: 127.0.0.1, so that only this machine reaches it. Any other needs a `token`, or `insecure`. */
  readonly host?: string | undefined;
  /** Default: 0, a free one. */
  readonly port?: number | undefined;
  /**
   * What `/metrics` asks for, as `Authorization: Bearer TOKEN`; at least 16 characters. A function is asked at each request, so that the token may
   * change. Default: none. `/healthz` and `/readyz` ask for none.
   */
  readonly token?: TokenSource | undefined;
  /** Serves beyond this machine without a token: in a network where everybody may read metrics. Default: false. */
  readonly insecure?: boolean | undefined;
}

/** A server of `/metrics`. */
export type MetricsServer = RunningServer;

/** What {@link serveMetrics} takes. */
export interface MetricsServerOptions extends MetricsPagesOptions, PlainServerOptions {}

/**
 * Serves the metrics of a database in this process to Prometheus, at `/metrics`; `/healthz`, which answers 200 while the process is alive
 * and the database open; and `/readyz`, which answers 200 while transactions can be done, and else 503 with what is away. Each answers
 * within a second, whatever is away. Lives until it is closed; close it before the database.
 *
 * @throws InvalidArgumentError for an address that is taken or is none of this machine's, and for one that other machines reach without a
 * token.
 *
 * @example
 * await using metrics = await serveMetrics(db, { port: 9464 });
 */
export async function serveMetrics(db: Database, options: MetricsServerOptions = {}): Promise<MetricsServer> {
  const pages = new MetricsPages(db, options);
  return await servePlain(options, pages.pages, () => pages.close());
}

/**
 * Serves the metrics of a coordinator in this process at `/metrics`; `/healthz`, which answers 200 while the process is alive; and
 * `/readyz`, which answers 200 while it leads or stands by for one that does, and 503 while its own lease has run out. Lives until it is closed.
 *
 * @throws InvalidArgumentError as `serveMetrics` does.
 */
export async function serveCoordinatorMetrics(
  coordinator: Coordinator,
  options: PlainServerOptions = {},
): Promise<MetricsServer> {
  return await servePlain(options, coordinatorPages(coordinator), () => undefined);
}

/** Serves pages until it is closed. `end`: called first then. */
async function servePlain(
  options: PlainServerOptions,
  pages: PlainPages,
  end: () => void,
): Promise<MetricsServer> {
  const { host = "127.0.0.1", port = 0, insecure = false } = options;
  const token = currentToken("metrics", options.token);
  if (token() === undefined && !insecure && !isLoopbackHost(host)) {
    throw new InvalidArgumentError(
      `Metrics at ${host} can be reached from other machines: give a \`token\` (--metrics-token-file), serve them at 127.0.0.1, or say ` +
        "`insecure` (--insecure) if everybody in the network may read them.",
    );
  }
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use("/metrics", async (c, next) => {
    const needed = token();
    if (needed === undefined || hasBearer(c.env.incoming, needed) === true) return await next();
    c.header("www-authenticate", 'Bearer realm="percolatordb"');
    return send(c, 401, "Metrics ask for their token: Authorization: Bearer TOKEN.\n");
  });
  app.all("*", (c) => answerPlain(c, c.req.path, pages));
  const listener = listenerOf(app);
  return await serveOn({ what: "Metrics", host, port, path: "/metrics", end }, (request, response) => {
    if (pathOf(request) === undefined) response.writeHead(400).end("The address is none.\n");
    else listener(request, response);
  });
}

/** Answers one request. */
export async function answerPlain(c: Context, path: string, pages: PlainPages): Promise<Response> {
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return send(c, 404, `There are ${Object.keys(pages).join(", ")}.\n`);
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return send(c, 405, "Only GET is answered.\n");
  try {
    const { status, text } = await page();
    return send(c, status, text);
  } catch (error) {
    return send(c, 503, `${error instanceof Error ? error.message : String(error)}\n`);
  }
}

function send(c: Context, status: number, text: string): Response {
  c.header("x-content-type-options", "nosniff");
  return answer(c, status, "text/plain; version=0.0.4; charset=utf-8", text);
}
