import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { parse } from "hono/utils/cookie";
import { InvalidArgumentError } from "../../errors/index.js";
import { RequestError } from "./failure.js";
import { hostName, isLoopback, isLoopbackHost } from "./loopback.js";
import type { DashboardHandlerOptions, TokenSource } from "./options.js";

const minToken = 16;

/**
 * Refuses a token that a header cannot carry or that is easy to guess. `what` names its owner in
 * messages.
 */
function checkToken(what: string, token: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new InvalidArgumentError(
      `The token of ${what} must consist of printable ASCII characters without spaces.`,
    );
  }
  if (token.length >= minToken) return;
  throw new InvalidArgumentError(
    `The token of ${what} must have at least ${minToken} characters: make one with "openssl rand -hex 32".`,
  );
}

/**
 * Returns a function that returns the current token, or undefined if there never was a token. If
 * the source gives an invalid token, the last valid one stays in use. A token file is empty for a
 * moment while it is written, and the server must not become open to everyone in that moment.
 *
 * @throws InvalidArgumentError if the first token cannot be sent or is too short.
 */
export function currentToken(what: string, source: TokenSource | undefined): () => string | undefined {
  let known = typeof source === "function" ? source() : source;
  if (known !== undefined) checkToken(what, known);
  if (typeof source !== "function") return () => known;
  return () => {
    const token = source();
    if (token === known || token === undefined) return known;
    try {
      checkToken(what, token);
      known = token;
    } catch {
      // The last valid token stays.
    }
    return known;
  };
}

/**
 * Whether the token that a request sends as `Authorization: Bearer TOKEN` is the right one.
 * Undefined if the request sends no token in this way.
 */
export function hasBearer({ headers }: IncomingMessage, token: string): boolean | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return bearer === undefined ? undefined : isSame(bearer, token);
}

type AccessOptions = Pick<DashboardHandlerOptions, "hosts" | "token" | "writable">;

/** Decides which requests are allowed. */
export class Access {
  readonly #hosts: ReadonlySet<string>;
  readonly #token: () => string | undefined;
  readonly #isWritable: boolean;

  constructor({ hosts = [], token, writable = false }: AccessOptions) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#token = currentToken("a dashboard", token);
    this.#isWritable = writable;
  }

  /**
   * Refuses a request whose `Host` is neither a loopback name nor one of `hosts`. A hostile page
   * may let its own name resolve to this machine (DNS rebinding), and its requests carry that name
   * in `Host`. If there is a token, a request that arrives at another address than loopback may
   * have any name: a hostile page lacks the cookie, because a browser sends a cookie only to the
   * name that set it.
   */
  checkHost(request: IncomingMessage): void {
    const name = hostName(request.headers.host);
    const isKnown = name !== undefined && (isLoopbackHost(name) || this.#hosts.has(name));
    if (this.#token() === undefined) {
      this.#refuseDistant(request);
      if (isKnown) return;
    } else if (isKnown || (name !== undefined && !isLoopback(request.socket.localAddress ?? ""))) return;
    throw new RequestError(
      421,
      "HOST",
      `The dashboard does not accept requests for the host ${JSON.stringify(request.headers.host ?? "")}: use 127.0.0.1 or localhost, or add the name to \`hosts\`.`,
    );
  }

  #refuseDistant({ socket }: IncomingMessage): void {
    if (isLoopback(socket.remoteAddress ?? "")) return;
    throw new RequestError(
      403,
      "FORBIDDEN",
      "Without a token the dashboard answers only requests from its own machine. To use it from others, start it with a token.",
    );
  }

  /** Whether a request carries the token, or the cookie made from the token. */
  isAllowed(request: IncomingMessage): boolean {
    const token = this.#token();
    if (token === undefined) return true;
    const bears = hasBearer(request, token);
    if (bears !== undefined) return bears;
    const name = cookieName(request);
    const given = parse(request.headers.cookie ?? "", name)[name];
    return given !== undefined && isSame(given, cookieOf(token));
  }

  checkAllowed(request: IncomingMessage): void {
    if (this.isAllowed(request)) return;
    throw new RequestError(
      401,
      "UNAUTHORIZED",
      "The dashboard asks for a token: send `Authorization: Bearer TOKEN`, or open it once with ?token=TOKEN.",
      { "www-authenticate": 'Bearer realm="percolatordb"' },
    );
  }

  /**
   * The cookie for a token that was given in the address. Undefined if the token is wrong, or if
   * the dashboard needs none.
   */
  cookieFor(request: IncomingMessage, given: string): { name: string; value: string } | undefined {
    const token = this.#token();
    if (token === undefined || !isSame(given, token)) return undefined;
    return { name: cookieName(request), value: cookieOf(token) };
  }

  /**
   * Lets only the dashboard's own pages, and programs other than browsers, use the API. Other pages
   * could not read the answers, but could use up what the dashboard serves at a time.
   */
  checkOrigin({ headers }: IncomingMessage): void {
    const { origin, host } = headers;
    const site = headers["sec-fetch-site"];
    const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
    if (isOwn && (site === undefined || site === "same-origin" || site === "none")) return;
    throw new RequestError(
      403,
      "ORIGIN",
      "The request comes from a page of another origin. The dashboard answers only its own pages.",
    );
  }

  checkWritable(): void {
    if (this.#isWritable) return;
    throw new RequestError(
      403,
      "READ_ONLY",
      "The dashboard is read-only: start it with --writable (`writable: true`), or use the command line.",
    );
  }
}

/** Browsers share cookies between ports, so two dashboards on one machine need different names. */
function cookieName({ socket }: IncomingMessage): string {
  return `percolator-${socket.localPort ?? 0}`;
}

/** The cookie does not reveal the token, and becomes invalid when the token changes. */
function cookieOf(token: string): string {
  return createHmac("sha256", token).update("percolatordb dashboard").digest("base64url");
}

function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
