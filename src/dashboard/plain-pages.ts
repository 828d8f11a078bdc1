import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { InvalidArgumentError } from "../errors/index.js";
import { currentToken, hasBearer, type TokenSource } from "./server/access.js";
import { endServer, listen, originOf } from "./server/listen.js";
import { isLoopbackHost } from "./server/loopback.js";

/** What a page says: always within a second: a scraper gives up soon. */
export interface PlainAnswer {
  readonly status: 200 | 503;
  readonly text: string;
}

/** Pages of plain text by their paths: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes. */
export type PlainPages = Readonly<Record<string, (() => Promise<PlainAnswer>) | undefined>>;

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
export interface MetricsServer {
  /** Where `/metrics` is. */
  readonly url: string;
  /** Ends what is under way, and waits for it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Paths are relative to it; nobody looks at it. */
const origin = "http://localhost";

/** Serves pages until it is closed. `end`: called first then. */
export async function servePlain(
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
  const server = createServer((request, response) => void answer(request, response, pages, token()));
  await listen(server, "Metrics", host, port);
  const close = async () => {
    end();
    await endServer(server);
  };
  return { url: `${originOf(server, host)}/metrics`, close, [Symbol.asyncDispose]: close };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  pages: PlainPages,
  token: string | undefined,
): Promise<void> {
  const { method, url = "/" } = request;
  try {
    if (!URL.canParse(url, origin)) return send(response, 400, "The address is none.\n");
    const { pathname } = new URL(url, origin);
    if (pathname === "/metrics" && token !== undefined && hasBearer(request, token) !== true) {
      response.setHeader("www-authenticate", 'Bearer realm="percolatordb"');
      return send(response, 401, "Metrics ask for their token: Authorization: Bearer TOKEN.\n");
    }
    await answerPlain(method, pathname, response, pages);
  } catch {
    response.destroy();
  }
}

/** Answers one request whose path is known. */
export async function answerPlain(
  method: string | undefined,
  pathname: string,
  response: ServerResponse,
  pages: PlainPages,
): Promise<void> {
  const page = Object.hasOwn(pages, pathname) ? pages[pathname] : undefined;
  if (page === undefined) return send(response, 404, `There are ${Object.keys(pages).join(", ")}.\n`);
  if (method !== "GET" && method !== "HEAD") return send(response, 405, "Only GET is answered.\n");
  try {
    const { status, text } = await page();
    send(response, status, text);
  } catch (error) {
    send(response, 503, `${error instanceof Error ? error.message : String(error)}\n`);
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}
