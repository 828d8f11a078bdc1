import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Database } from "percolatordb";
import {
  type DashboardHandler,
  type DashboardHandlerOptions,
  dashboardHandler,
} from "percolatordb/dashboard";
import { type PageScript, pageScript } from "../../support/page-script.js";
import { unpackContents } from "../contents.js";
import { SearchIndex } from "../search/search-index.js";
import { documents } from "../tables.js";
import { extract, normalizeUrl, urlFitsKey } from "../text/index.js";
import type { Html } from "./html.js";
import { LiveSearches } from "./live-search.js";
import { messagePage, resultsPage, startPage, textPage } from "./pages.js";
import { readQuestion } from "./question.js";
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
  /** The most pages of results that are live at the same time. Default: 64. */
  readonly maxLive?: number | undefined;
  /**
   * The least time between two updates of a live page, in milliseconds. Default: 500: soon enough
   * for a reader, and a load is hardly slowed.
   */
  readonly throttleMs?: number | undefined;
  /** Receives internal errors. */
  readonly onError: (error: unknown) => void;
}

/** Limits the memory, because each request may hold the bodies of some results. */
const maxAtOnce = 16;
const dashboardBase = "/dashboard/";

/** Where a page of results gets its updates, with the parameters of the page itself. */
const livePath = "/api/search/live";

const policy = [
  "default-src 'none'",
  `style-src '${styleHash}'`,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers = {
  "Content-Security-Policy": policy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
} as const;

/** Additional headers by status. */
const headersOf: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  405: { Allow: "GET, HEAD" },
  503: { "Retry-After": "1" },
};

/** An answer: an HTML page, which may have a script, or a value as JSON. */
type Answer = { readonly status: number } & (
  | { readonly page: Html; readonly script?: PageScript | undefined }
  | { readonly json: unknown }
);

/** Serves the search page, the same results as JSON, and the dashboard. */
export class SearchServer {
  readonly #db: Database;
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #dashboard: DashboardHandler;
  readonly #index: SearchIndex;
  readonly #line: WaitingLine;
  readonly #live: LiveSearches;
  /** Keeps a page of results up to date. */
  readonly #script: PageScript;

  private constructor(db: Database, options: ServerOptions, script: PageScript) {
    this.#db = db;
    this.#options = options;
    this.#script = script;
    this.#index = new SearchIndex(db);
    const { atOnce = maxAtOnce, maxWaiting = 500, deadlineMs = 5_000 } = options;
    const { maxLive: maxOpen = 64, throttleMs = 500, onError } = options;
    const line = new WaitingLine({ atOnce, maxWaiting, deadlineMs });
    this.#line = line;
    this.#live = new LiveSearches(db, this.#index, { line, maxOpen, throttleMs, deadlineMs, onError });
    this.#dashboard = dashboardHandler(db, { ...options.dashboard, base: dashboardBase });
    this.#server = createServer((request, response) => {
      if (!this.#dashboard.handle(request, response)) void this.#handle(request, response);
    });
    this.#server.requestTimeout = 30_000;
  }

  /** Rejects if the port is not available. */
  static async start(db: Database, options: ServerOptions): Promise<SearchServer> {
    const script = await pageScript(new URL("./search-page.ts", import.meta.url));
    const server = new SearchServer(db, options, script);
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

  /** Ends live pages, finishes the current requests, then stops. */
  async stop(): Promise<void> {
    this.#dashboard.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    // Also for a live page that takes nothing.
    const impatient = setTimeout(() => this.#server.closeAllConnections(), 2_000);
    await this.#live.stop();
    await closed;
    clearTimeout(impatient);
    await this.#index.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = addressOf(request);
    if (address?.pathname === livePath && isRead(request))
      return this.#handleLive(address, request, response);
    const abandoned = new AbortController();
    response.once("close", () => abandoned.abort(new Error("Nobody waits for the answer any more")));
    const leave = await this.#line.enter(abandoned.signal);
    if (leave === undefined) {
      const message = "Too many requests are waiting. Try again in a few seconds.";
      return send(request, response, failure(request, 503, "Busy", message));
    }
    try {
      const answer = await this.#answerOrFailure(address, request, abandoned.signal);
      if (answer !== undefined) send(request, response, answer);
    } finally {
      leave();
    }
  }

  /** A live search takes a turn in line for each of its runs, and not for as long as it is open. */
  async #handleLive(address: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const question = readQuestion(address.searchParams);
    if (typeof question === "string") return send(request, response, notUnderstood(request, question));
    response.setHeader("X-Content-Type-Options", headers["X-Content-Type-Options"]);
    // So that `stop` need not wait for its client to close an idle connection.
    response.setHeader("Connection", "close");
    await this.#live.answer(question, request, response);
  }

  /** `undefined` if the request was aborted. */
  async #answerOrFailure(
    address: URL | undefined,
    request: IncomingMessage,
    signal: AbortSignal,
  ): Promise<Answer | undefined> {
    try {
      return await this.#answer(address, request, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      this.#options.onError(error);
      return failure(request, 500, "Something went wrong", "The index could not be read. Try again.");
    }
  }

  async #answer(address: URL | undefined, request: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    if (!isRead(request)) return failure(request, 405, "Not possible", "Here one can only read.");
    if (address === undefined) return notUnderstood(request, "The address is none.");
    const { pathname, searchParams } = address;
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
    if (typeof asked === "string") return notUnderstood(request, asked);
    const start = performance.now();
    const answer = await this.#index.search(asked.query, { ...asked.options, signal });
    const milliseconds = performance.now() - start;
    // Without a word there is nothing to follow.
    const script = answer.terms.length === 0 ? undefined : this.#script;
    const page = resultsPage({ ...asked, answer, milliseconds }, this.#options.loading(), script);
    return { status: 200, page, script };
  }

  async #searchJson(request: IncomingMessage, given: URLSearchParams, signal: AbortSignal): Promise<Answer> {
    const asked = readQuestion(given);
    if (typeof asked === "string") return notUnderstood(request, asked);
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

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const body = "page" in answer ? answer.page.source : `${JSON.stringify(answer.json)}\n`;
  const type = "page" in answer ? "text/html; charset=utf-8" : "application/json; charset=utf-8";
  const script = "page" in answer ? answer.script : undefined;
  response.writeHead(answer.status, {
    ...headers,
    ...(script && { "Content-Security-Policy": policyWith(script) }),
    ...headersOf[answer.status],
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Allows this script, and requests to this server, and otherwise nothing more. */
function policyWith({ hash }: PageScript): string {
  return `${policy}; script-src '${hash}'; connect-src 'self'`;
}

/** `undefined` if the address of the request is none. */
function addressOf({ url = "/" }: IncomingMessage): URL | undefined {
  return URL.canParse(url, "http://localhost") ? new URL(url, "http://localhost") : undefined;
}

function notUnderstood(request: IncomingMessage, message: string): Answer {
  return failure(request, 400, "Not understood", message);
}

function failure(request: IncomingMessage, status: number, title: string, message: string): Answer {
  if (request.url?.startsWith("/api/")) return { status, json: { error: message } };
  return { status, page: messagePage(title, message) };
}
