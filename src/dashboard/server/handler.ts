import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../../database/index.js";
import { systemEnvironment } from "../../environment/index.js";
import { InvalidArgumentError } from "../../errors/index.js";
import { bindTable } from "../../schema/index.js";
import type { Reach } from "../api.js";
import { MetricsPages } from "../metrics/metrics-pages.js";
import { Recorder } from "../recording/recorder.js";
import { Gathered } from "../sources/gathered.js";
import { LocalSource } from "../sources/local.js";
import { RemoteSource } from "../sources/remote.js";
import { Shared } from "../sources/shared.js";
import type { ReportSource } from "../sources/source.js";
import { Tables } from "../text/tables.js";
import { overview } from "../views/overview.js";
import { StandingLook } from "../views/standing.js";
import { Access } from "./access.js";
import { dashboardApp } from "./app.js";
import { listenerOf } from "./app-listener.js";
import { failureOf } from "./failure.js";
import { securityHeaders } from "./headers.js";
import { pathOf, type RequestListener } from "./listen.js";
import type { DashboardHandlerOptions } from "./options.js";
import { builtPages } from "./static-pages.js";
import { Streams } from "./stream.js";

/** A dashboard that is mounted in a server of the program. */
export interface DashboardHandler {
  /** The path under which it answers, with a slash at the end. */
  readonly base: string;
  /**
   * Answers a request under its base. Returns false for any other request, which it leaves alone.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Ends its streams, and stops listening to the database. */
  close(): void;
  [Symbol.dispose](): void;
}

/**
 * A dashboard of a database in this process, to be mounted in a server of your own. It records
 * transactions until it is closed. Close it before the database.
 *
 * @throws InvalidArgumentError if the base, the token or an address in `from` is invalid.
 *
 * @example
 * const dashboard = dashboardHandler(db, { base: "/dashboard/" });
 * createServer((request, response) => {
 *   if (!dashboard.handle(request, response)) response.writeHead(404).end();
 * });
 */
export function dashboardHandler(db: Database, options: DashboardHandlerOptions = {}): DashboardHandler {
  return new Handler(db, options);
}

class Handler implements DashboardHandler {
  readonly base: string;
  readonly #access: Access;
  readonly #listener: RequestListener;
  readonly #closing = new AbortController();
  /** Closed together with the handler. */
  readonly #closed: readonly ({ close(): void } | undefined)[];

  constructor(db: Database, options: DashboardHandlerOptions) {
    const environment = options.environment ?? systemEnvironment;
    this.base = checkBase(options.base ?? "/");
    const { token, hosts = [], writable = false } = options;
    const access = new Access({ token, hosts, writable });
    this.#access = access;
    const watched = (options.observers ?? []).map(({ target }) => bindTable(target.table));
    const tables = new Tables(db, [...watched, ...(options.tables ?? [])], environment);
    const recorder = options.sources === undefined ? new Recorder(db, environment) : undefined;
    const remote = (options.from ?? []).map((url) => new RemoteSource(url, options.fromToken ?? token));
    const local = options.sources ?? [
      new LocalSource({ recorder: recorder!, tables, environment, activity: () => db.activity }),
    ];
    const gathered = new Gathered([...local, ...remote], environment);
    const standing = new StandingLook(db, environment);
    const reach = reachOf(local, remote);
    const view = { db, environment, tables, gathered, standing, reach, location: options.location, writable };
    const shared = new Shared(environment, 900, () => overview(view));
    const context = { ...view, overview: () => shared.get() };
    const streams = new Streams({ environment, gathered, overview: () => shared.get() });
    const metrics = new MetricsPages(db, { environment, labels: options.labels });
    const app = dashboardApp({
      base: this.base,
      access,
      context,
      streams,
      metrics,
      pages: options.pages ?? builtPages(),
      closing: this.#closing.signal,
    });
    this.#listener = listenerOf(app);
    this.#closed = [streams, metrics, recorder, gathered, standing];
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const path = pathOf(request);
    if (path === undefined || !(`${path}/` === this.base || path.startsWith(this.base))) return false;
    try {
      this.#access.checkHost(request);
      this.#listener(request, response);
    } catch (error) {
      refuse(response, error);
    }
    return true;
  }

  close(): void {
    this.#closing.abort();
    for (const part of this.#closed) part?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function checkBase(base: string): string {
  const isPath = /^\/(?:[\w.~-]+\/)*(?:[\w.~-]+)?$/.test(base);
  if (isPath) return base.endsWith("/") ? base : `${base}/`;
  throw new InvalidArgumentError(
    `\`base\` must be a path such as /dashboard/, of letters, digits and "-._~", not ${JSON.stringify(base)}.`,
  );
}

function reachOf(local: readonly ReportSource[], remote: readonly ReportSource[]): Reach {
  if (remote.length > 0) return "named";
  return local.length > 0 ? "here" : "store";
}

/** Refuses a request by its `Host`, before Hono builds an address from it. */
function refuse(response: ServerResponse, error: unknown): void {
  const { status, failure } = failureOf(error);
  response.writeHead(status, {
    ...securityHeaders,
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
  });
  response.end(response.req.method === "HEAD" ? undefined : `${JSON.stringify(failure)}\n`);
}
