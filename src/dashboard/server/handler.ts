import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../../database/index.js";
import { systemEnvironment } from "../../environment/index.js";
import { checkDatabase, InvalidArgumentError, withoutPassword } from "../../errors/index.js";
import { bindTable } from "../../schema/index.js";
import type { Reach } from "../api/index.js";
import { FailuresLook } from "../failures/failures-look.js";
import { MetricsPages } from "../metrics/metrics-pages.js";
import { Growth } from "../past/growth.js";
import { PastMoments } from "../past/past.js";
import { GatheredReports } from "../sources/gathered.js";
import { LocalSource } from "../sources/local.js";
import { RemoteSource } from "../sources/remote.js";
import { Shared } from "../sources/shared.js";
import { SharedAnswers } from "../sources/shared-answers.js";
import type { ReportSource } from "../sources/source.js";
import { sharedTables } from "../text/tables.js";
import type { LocksQuestion, RowQuestion } from "../views/context.js";
import { readInspected } from "../views/inspect.js";
import { readLocks } from "../views/locks.js";
import { overview } from "../views/overview.js";
import { StandingLook } from "../views/standing.js";
import { Access } from "./access.js";
import { dashboardApp } from "./app.js";
import { listenerOf } from "./app-listener.js";
import { failureOf } from "./failure.js";
import { securityHeaders } from "./headers.js";
import { pathOf } from "./listen.js";
import type { DashboardHandlerOptions } from "./options.js";
import { builtPages } from "./static-pages.js";
import { Streams } from "./stream.js";

/** A dashboard that is mounted in a server of the program. */
export interface DashboardHandler {
  /** The path under which it answers, with a slash at the end. */
  readonly base: string;
  /** Answers a request under its base. Returns false for any other request, without touching it. */
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
  checkDatabase("dashboardHandler", db);
  const { environment = systemEnvironment, token, writable = false } = options;
  const location = options.location === undefined ? undefined : withoutPassword(options.location);
  const base = checkBase(options.base ?? "/");
  const access = new Access(options);
  const remote = (options.from ?? []).map((url) => new RemoteSource(url, options.fromToken ?? token));
  const watched = (options.observers ?? []).map(({ target }) => bindTable(target.table));
  const tables = sharedTables(db, [...watched, ...(options.tables ?? [])], environment);
  const local = options.sources ?? [new LocalSource(db, tables, environment)];
  const gathered = new GatheredReports([...local, ...remote], environment);
  const standing = new StandingLook(db, environment);
  const reach = reachOf(local, remote);
  const failures = new FailuresLook(db, environment, tables);
  const growth = new Growth();
  const parts = { db, environment, tables, gathered, standing, failures, growth, reach, location, writable };
  const look = new Shared(environment, 900, async () => {
    const now = await overview(parts);
    past.see(now);
    return now;
  });
  const past = new PastMoments({ db, environment, writable, look: () => look.get() });
  const closing = new AbortController();
  const locks = new SharedAnswers(environment, 2_000, (page: LocksQuestion) =>
    readLocks(parts, page, closing.signal),
  );
  const inspected = new SharedAnswers(environment, 900, (row: RowQuestion) => readInspected(parts, row));
  const context = { ...parts, overview: look, past, locks, inspected };
  const streams = new Streams(context);
  const metrics = new MetricsPages(db, options);
  const pages = options.pages ?? builtPages();
  const listener = listenerOf(
    dashboardApp({ base, access, context, streams, metrics, pages, closing: closing.signal }),
  );
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = pathOf(request);
    if (path === undefined || !(`${path}/` === base || path.startsWith(base))) return false;
    try {
      access.checkHost(request);
      listener(request, response);
    } catch (error) {
      refuse(response, error);
    }
    return true;
  };
  const close = () => {
    closing.abort();
    for (const part of [streams, metrics, gathered, standing, failures, past]) part.close();
  };
  return { base, handle, close, [Symbol.dispose]: close };
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
