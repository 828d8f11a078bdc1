import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Database } from "percolatordb";
import {
  type DashboardHandler,
  type DashboardHandlerOptions,
  dashboardHandler,
} from "percolatordb/dashboard";
import { unpackContents } from "../contents.js";
import { parseCursor } from "../search/cursor.js";
import { type SearchOptions, searchLimits } from "../search/search.js";
import { SearchIndex } from "../search/search-index.js";
import { documents } from "../tables.js";
import { extract, normalizeUrl, urlFitsKey } from "../text/index.js";
import type { Html } from "./html.js";
import { messagePage, resultsPage, startPage, textPage } from "./pages.js";
import type { Status } from "./status.js";
import { styleHash } from "./style.js";
import { WaitingLine } from "./waiting-line.js";

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
  /** The most requests to answer concurrently. Further requests wait in line. Default: 16. */
  readonly atOnce?: number | undefined;
  /** The most requests that wait. Further ones are told to try again later. Default: 500. */
  readonly maxWaiting?: number | undefined;
  /**
   * How long a request waits in line at most, in milliseconds. Then it is told to try again later.
   * Default: 5 s: longer than the hundreds of searches before it take, and shorter than a
   * person's patience.
   */
  readonly deadlineMs?: number | undefined;
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
  readonly #index: SearchIndex;
  readonly #line: WaitingLine;

  private constructor(db: Database, options: ServerOptions) {
    this.#db = db;
    this.#options = options;
    this.#index = new SearchIndex(db);
    const { atOnce = maxAtOnce, maxWaiting = 500, deadlineMs = 5_000 } = options;
    this.#line = new WaitingLine({ atOnce, maxWaiting, deadlineMs });
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
    await this.#index.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const abandoned = new AbortController();
    response.once("close", () => abandoned.abort(new Error("Nobody waits for the answer any more")));
    const leave = await this.#line.enter(abandoned.signal);
    if (leave === undefined) {
      const message = "Too many requests are waiting. Try again in a few seconds.";
      return send(request, response, failure(request, 503, "Busy", message));
    }
    try {
      const answer = await this.#answerOrFailure(request, abandoned.signal);
      if (answer !== undefined) send(request, response, answer);
    } finally {
      leave();
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
    if (pathname === "/") return this.#start();
    if (pathname === "/search") return this.#search(request, searchParams, signal);
    if (pathname === "/page") return this.#page(request, searchParams.get("url") ?? "", signal);
    if (pathname === "/api/search") return this.#searchJson(request, searchParams, signal);
    if (pathname === "/api/status") return { status: 200, json: await this.#status(signal) };
    return failure(request, 404, "Not found", "There is no such page here.");
  }

  async #start(): Promise<Answer> {
    const page = startPage({ pages: await this.#pages(), loading: this.#options.loading() });
    return { status: 200, page };
  }

  async #search(request: IncomingMessage, given: URLSearchParams, signal: AbortSignal): Promise<Answer> {
    const asked = readQuestion(given);
    if (typeof asked === "string") return failure(request, 400, "Not understood", asked);
    const start = performance.now();
    const answer = await this.#index.search(asked.query, { ...asked.options, signal });
    const milliseconds = performance.now() - start;
    const page = resultsPage({ ...asked, answer, milliseconds }, this.#options.loading());
    return { status: 200, page };
  }

  async #searchJson(request: IncomingMessage, given: URLSearchParams, signal: AbortSignal): Promise<Answer> {
    const asked = readQuestion(given);
    if (typeof asked === "string") return failure(request, 400, "Not understood", asked);
    const { query, options } = asked;
    return { status: 200, json: { query, ...(await this.#index.search(query, { ...options, signal })) } };
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
    return { pages: await this.#pages(), loading: loading(), waiting: await waiting(signal) };
  }

  async #pages(): Promise<number> {
    return (await this.#index.statistics()).pages;
  }
}

/** A search as a client asked for it. */
interface Question {
  readonly query: string;
  readonly options: SearchOptions;
  readonly offset: number;
  readonly limit: number;
}

/** Parses the parameters of a search. Returns a message if one of them is wrong. */
function readQuestion(given: URLSearchParams): Question | string {
  const query = given.get("q") ?? "";
  if (query.length > longestQuery) return `A query has at most ${longestQuery} characters.`;
  const limit = wholeNumber(given.get("limit"), 10);
  if (limit === undefined || limit < 1 || limit > searchLimits.results)
    return `limit must be a whole number from 1 to ${searchLimits.results}.`;
  const offset = wholeNumber(given.get("offset"), 0);
  const maxOffset = searchLimits.depth - searchLimits.results;
  if (offset === undefined || offset > maxOffset)
    return `offset must be a whole number from 0 to ${maxOffset}. Use a query with more words instead.`;
  const place = given.get("after");
  const after = place === null ? undefined : parseCursor(place);
  if (place !== null && after === undefined) return "after must be the next of an earlier answer.";
  return { query, offset, limit, options: { limit, offset, after } };
}

function wholeNumber(text: string | null, byDefault: number): number | undefined {
  if (text === null) return byDefault;
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined;
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

function failure(request: IncomingMessage, status: number, title: string, message: string): Answer {
  if (request.url?.startsWith("/api/")) return { status, json: { error: message } };
  return { status, page: messagePage(title, message) };
}
