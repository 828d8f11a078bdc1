import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Database } from "percolatordb";
import {
  type DashboardHandler,
  type DashboardHandlerOptions,
  dashboardHandler,
} from "percolatordb/dashboard";
import { unpackContents } from "../contents.js";
import { readStatistics, search, searchLimits } from "../search/search.js";
import { documents } from "../tables.js";
import { extract, normalizeUrl, urlFitsKey } from "../text/index.js";
import type { Html } from "./html.js";
import { messagePage, resultsPage, startPage, textPage } from "./pages.js";
import type { Status } from "./status.js";
import { styleHash } from "./style.js";

export interface ServerOptions {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** Options of the dashboard, which is served at {@link dashboardBase}. */
  readonly dashboard?: Pick<DashboardHandlerOptions, "location" | "token" | "writable"> | undefined;
  /** Describes the current load. `undefined` if none is running. */
  readonly loading: () => Status["loading"];
  /**
   * Counts the changes that observers must still handle, up to a limit. The signal aborts when the
   * client closes the request.
   */
  readonly waiting: (signal: AbortSignal) => Promise<number>;
  /**
   * The most requests to answer concurrently. Further requests are told to try again later.
   * Default: 16.
   */
  readonly atOnce?: number | undefined;
  /** Receives internal errors. */
  readonly onError: (error: unknown) => void;
}

const longestQuery = 500;
/** Limits the memory, because each request may hold the bodies of some results. */
const maxAtOnce = 16;
const dashboardBase = "/dashboard/";

const headers = {
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src '${styleHash}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
} as const;

/** Additional headers by status. */
const headersOf: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  405: { Allow: "GET, HEAD" },
  503: { "Retry-After": "1" },
};

/** An answer: an HTML page, or a value as JSON. */
type Answer = { readonly status: number } & ({ readonly page: Html } | { readonly json: unknown });

/** Serves the search page, the same results as JSON, and the dashboard. */
export class SearchServer {
  readonly #db: Database;
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #dashboard: DashboardHandler;
  /** The number of requests being answered. */
  #answering = 0;

  private constructor(db: Database, options: ServerOptions) {
    this.#db = db;
    this.#options = options;
    this.#dashboard = dashboardHandler(db, { ...options.dashboard, base: dashboardBase });
    this.#server = createServer((request, response) => {
      if (!this.#dashboard.handle(request, response)) void this.#handle(request, response);
    });
    this.#server.requestTimeout = 30_000;
  }

  /** Rejects if the port is not available. */
  static async start(db: Database, options: ServerOptions): Promise<SearchServer> {
    const server = new SearchServer(db, options);
    try {
      await server.#listen();
    } catch (error) {
      server.#dashboard.close();
      throw error;
    }
    return server;
  }

  #listen(): Promise<void> {
    const { port, host, onError } = this.#options;
    return new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject);
        this.#server.on("error", onError);
        resolve();
      });
    });
  }

  get dashboardUrl(): string {
    return new URL(dashboardBase, this.url).href;
  }

  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `http://${family === "IPv6" ? `[${address}]` : address}:${port}/`;
  }

  /** Finishes the current requests, then stops. */
  async stop(): Promise<void> {
    this.#dashboard.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const impatient = setTimeout(() => this.#server.closeAllConnections(), 2_000);
    await closed;
    clearTimeout(impatient);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#answering >= (this.#options.atOnce ?? maxAtOnce)) {
      return send(request, response, failure(request, 503, "Busy", "Too many ask at a time. Try again."));
    }
    const abandoned = new AbortController();
    response.once("close", () => abandoned.abort(new Error("Nobody waits for the answer any more")));
    this.#answering++;
    try {
      const answer = await this.#answerOrFailure(request, abandoned.signal);
      if (answer !== undefined) send(request, response, answer);
    } finally {
      this.#answering--;
    }
  }

  /** `undefined` if the request was aborted. */
  async #answerOrFailure(request: IncomingMessage, signal: AbortSignal): Promise<Answer | undefined> {
    try {
      return await this.#answer(request, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      this.#options.onError(error);
      return failure(request, 500, "Something went wrong", "The index could not be read. Try again.");
    }
  }

  async #answer(request: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return failure(request, 405, "Not possible", "Here one can only read.");
    }
    const target = request.url ?? "/";
    if (!URL.canParse(target, "http://localhost")) {
      return failure(request, 400, "Not understood", "The address is none.");
    }
    const { pathname, searchParams } = new URL(target, "http://localhost");
    if (pathname === "/") return this.#start(signal);
    if (pathname === "/search") return this.#search(request, searchParams.get("q") ?? "", signal);
    if (pathname === "/page") return this.#page(request, searchParams.get("url") ?? "", signal);
    if (pathname === "/api/search") return this.#searchJson(request, searchParams, signal);
    if (pathname === "/api/status") return { status: 200, json: await this.#status(signal) };
    return failure(request, 404, "Not found", "There is no such page here.");
  }

  async #start(signal: AbortSignal): Promise<Answer> {
    const page = startPage({ pages: await this.#pages(signal), loading: this.#options.loading() });
    return { status: 200, page };
  }

  async #search(request: IncomingMessage, query: string, signal: AbortSignal): Promise<Answer> {
    if (query.length > longestQuery) return tooLong(request);
    const start = performance.now();
    await using view = await this.#db.snapshot({ signal });
    const answer = await search(view, query, undefined, signal);
    const page = resultsPage(query, answer, performance.now() - start, this.#options.loading());
    return { status: 200, page };
  }

  async #searchJson(
    request: IncomingMessage,
    parameters: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Answer> {
    const query = parameters.get("q") ?? "";
    if (query.length > longestQuery) return tooLong(request);
    const limit = Number(parameters.get("limit") ?? 10);
    if (!Number.isInteger(limit) || limit < 1 || limit > searchLimits.results) {
      const message = `limit must be a whole number from 1 to ${searchLimits.results}.`;
      return failure(request, 400, "Not understood", message);
    }
    await using view = await this.#db.snapshot({ signal });
    return { status: 200, json: { query, ...(await search(view, query, limit, signal)) } };
  }

  async #page(request: IncomingMessage, asked: string, signal: AbortSignal): Promise<Answer> {
    await using view = await this.#db.snapshot({ signal });
    const url = normalizeUrl(asked);
    const contents =
      url !== undefined && urlFitsKey(url) ? await view.get(documents.contents, url) : undefined;
    if (url === undefined || contents === undefined)
      return failure(request, 404, "Not found", "There is no such page in the index.");
    signal.throwIfAborted();
    const { contentType, body } = unpackContents(contents);
    const { title, text } = extract(body, contentType, url);
    return { status: 200, page: textPage(url, title, text) };
  }

  async #status(signal: AbortSignal): Promise<Status> {
    const { loading, waiting } = this.#options;
    return { pages: await this.#pages(signal), loading: loading(), waiting: await waiting(signal) };
  }

  async #pages(signal: AbortSignal): Promise<number> {
    await using view = await this.#db.snapshot({ signal });
    return (await readStatistics(view)).pages;
  }
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const body = "page" in answer ? answer.page.source : `${JSON.stringify(answer.json)}\n`;
  const type = "page" in answer ? "text/html; charset=utf-8" : "application/json; charset=utf-8";
  response.writeHead(answer.status, {
    ...headers,
    ...headersOf[answer.status],
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function tooLong(request: IncomingMessage): Answer {
  return failure(request, 400, "Not understood", `A query has at most ${longestQuery} characters.`);
}

function failure(request: IncomingMessage, status: number, title: string, message: string): Answer {
  if (request.url?.startsWith("/api/")) return { status, json: { error: message } };
  return { status, page: messagePage(title, message) };
}
