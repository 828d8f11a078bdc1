import type { IncomingMessage, ServerResponse } from "node:http";
import type { Database } from "../../database/index.js";
import { onAbort, systemEnvironment } from "../../environment/index.js";
import { AbortedError, ClosedError, InvalidArgumentError } from "../../errors/index.js";
import { bindTable } from "../../schema/index.js";
import type { Reach } from "../api.js";
import { MetricsPages } from "../metrics-pages.js";
import { answerPlain } from "../plain-pages.js";
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
import { answerApi } from "./api-answer.js";
import { failureOf, RequestError } from "./failure.js";
import { noStore } from "./headers.js";
import type { DashboardHandlerOptions } from "./options.js";
import { answerPage, sendText } from "./page-answer.js";
import { builtPages, Pages } from "./pages.js";
import { tokenPage } from "./plain-page.js";
import type { RouteContext } from "./routes.js";
import { Streams } from "./stream.js";

/** A dashboard within a server of the program's own. */
export interface DashboardHandler {
  /** The path under which it answers; ends with a slash. */
  readonly base: string;
  /** Answers a request under its base, and says whether it is one. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Ends its streams, and listens to the database no more. */
  close(): void;
  [Symbol.dispose](): void;
}

/** Requests that are worked on at the same time, besides streams. */
const maxAtOnce = 64;

/**
 * A dashboard of a database in this process, to be mounted in a server of one's own. Lives until it is closed; close it before the
 * database. What transactions do is recorded as long.
 *
 * @throws InvalidArgumentError for a base, token or address that cannot be meant.
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
  readonly #context: RouteContext;
  readonly #recorder: Recorder | undefined;
  readonly #streams: Streams;
  readonly #metrics: MetricsPages;
  readonly #pages: Pages;
  readonly #closing = new AbortController();
  #underWay = 0;

  constructor(db: Database, options: DashboardHandlerOptions) {
    const environment = options.environment ?? systemEnvironment;
    this.base = checkBase(options.base ?? "/");
    const { token, hosts = [], writable = false } = options;
    this.#access = new Access({ token, hosts, writable, base: this.base });
    const watched = (options.observers ?? []).map(({ target }) => bindTable(target.table));
    const tables = new Tables(db, [...watched, ...(options.tables ?? [])], environment);
    this.#recorder = options.sources === undefined ? new Recorder(db, environment) : undefined;
    const remote = (options.from ?? []).map((url) => new RemoteSource(url, options.fromToken ?? token));
    const local = options.sources ?? [
      new LocalSource({ recorder: this.#recorder!, tables, environment, activity: () => db.activity }),
    ];
    const gathered = new Gathered([...local, ...remote], environment);
    const standing = new StandingLook(db, environment);
    const reach = reachOf(local, remote);
    const view = { db, environment, tables, gathered, standing, reach, location: options.location, writable };
    const shared = new Shared(environment, 900, () => overview(view));
    this.#context = { ...view, overview: () => shared.get() };
    this.#streams = new Streams({ environment, gathered, overview: () => shared.get() });
    this.#metrics = new MetricsPages(db, { environment, labels: options.labels });
    this.#pages = new Pages(options.pages ?? builtPages());
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const path = pathOf(request);
    const isBase = path !== undefined && `${path}/` === this.base;
    if (path === undefined || !(isBase || path.startsWith(this.base))) return false;
    void this.#answer(request, response, isBase ? undefined : path.slice(this.base.length));
    return true;
  }

  /** `path`: below the base; undefined for the base without its slash. */
  async #answer(request: IncomingMessage, response: ServerResponse, path: string | undefined): Promise<void> {
    this.#underWay++;
    try {
      if (this.#underWay > maxAtOnce) throw new RequestError(503, "TOO_MANY", "Too much is asked at once.");
      this.#access.checkHost(request);
      if (this.#closing.signal.aborted) throw new ClosedError("The dashboard was closed.");
      if (path === undefined) return redirect(response, this.base);
      if (path === "healthz" || path === "readyz")
        return await answerPlain(request.method, `/${path}`, response, this.#metrics.pages);
      if (this.#takeToken(request, response)) return;
      if (path.startsWith("api/")) return await this.#api(request, response, path.slice("api/".length));
      if (!this.#access.isAllowed(request)) return sendText(request, response, 401, tokenPage);
      if (path === "metrics")
        return await answerPlain(request.method, "/metrics", response, this.#metrics.pages);
      await answerPage(this.#pages, request, response, path === "" ? "index.html" : path);
    } catch (error) {
      refuse(response, error);
    } finally {
      this.#underWay--;
    }
  }

  async #api(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
    this.#access.checkAllowed(request);
    const ending = new AbortController();
    const end = () => ending.abort(new AbortedError("Whoever asked has gone, or the dashboard was closed."));
    const stopListening = onAbort(this.#closing.signal, end);
    response.once("close", end);
    try {
      await answerApi(
        { context: this.#context, access: this.#access, streams: this.#streams },
        { request, response, name, signal: ending.signal },
      );
    } finally {
      stopListening();
    }
  }

  /** A token in the address becomes a cookie, so that it stands in no history and no link. */
  #takeToken(request: IncomingMessage, response: ServerResponse): boolean {
    const url = new URL(request.url ?? "/", "http://localhost");
    const given = url.searchParams.get("token");
    if (given === null || request.method !== "GET") return false;
    const cookie = this.#access.cookieFor(request, given);
    if (cookie !== undefined) response.setHeader("set-cookie", cookie);
    url.searchParams.delete("token");
    // Two slashes would begin the name of another host.
    redirect(response, `${url.pathname.replace(/^\/+/, "/")}${url.search}`);
    return true;
  }

  close(): void {
    this.#closing.abort();
    this.#streams.close();
    this.#metrics.end();
    this.#recorder?.close();
    this.#context.gathered.close();
    this.#context.standing.close();
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

function pathOf({ url = "/" }: IncomingMessage): string | undefined {
  return URL.canParse(url, "http://localhost") ? new URL(url, "http://localhost").pathname : undefined;
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { ...noStore, location }).end();
}

/** Says why not; where an answer has begun already, it ends. */
function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, failure } = failureOf(error);
  const more = error instanceof RequestError ? error.headers : {};
  const body = `${JSON.stringify(failure)}\n`;
  response.writeHead(status, { ...noStore, ...more, "content-type": "application/json; charset=utf-8" });
  response.end(response.req.method === "HEAD" ? undefined : body);
}
