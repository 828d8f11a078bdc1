import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { parse } from "hono/utils/cookie";
import { InvalidArgumentError } from "../../errors/index.js";
import { RequestError } from "./failure.js";
import { hostName, isLoopback, isLoopbackHost } from "./loopback.js";

/** A token. A function is called at each request, so that the token can change. */
export type TokenSource = string | (() => string | undefined);

export interface AccessOptions {
  readonly token: TokenSource | undefined;
  /** Allowed `Host` names besides those of loopback. */
  readonly hosts: readonly string[];
  readonly writable: boolean;
}

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
 * Returns a function that reads the current token; undefined if there never was one. If the source
 * gives an invalid token, the last valid one stays: a file is empty for a moment while it is
 * written, and a server with a token must never drop it.
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
 * Whether a request shows the token as `Authorization: Bearer TOKEN`; undefined if it shows none.
 */
export function hasBearer({ headers }: IncomingMessage, token: string): boolean | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return bearer === undefined ? undefined : isSame(bearer, token);
}

/** Decides which requests are allowed. */
export class Access {
  readonly #options: AccessOptions;
  readonly #hosts: ReadonlySet<string>;
  readonly #token: () => string | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
    this.#token = currentToken("a dashboard", options.token);
  }

  /**
   * Refuses requests under a foreign name. A page elsewhere may let its own name resolve to this
   * machine (DNS rebinding); its requests carry that name in `Host`. With a token, other names are
   * allowed from other machines: such a page has no cookie, because cookies belong to a name.
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
      `The dashboard does not answer to the name ${JSON.stringify(request.headers.host ?? "")}: use 127.0.0.1 or localhost, or add the name to \`hosts\`.`,
    );
  }

  #refuseDistant({ socket }: IncomingMessage): void {
    if (isLoopback(socket.remoteAddress ?? "")) return;
    throw new RequestError(
      403,
      "FORBIDDEN",
      "Without a token the dashboard answers only this machine: start it with a token to use it from others.",
    );
  }

  /** Whether a request carries the token, or the cookie that stands for it. */
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
      "The dashboard needs its token: send `Authorization: Bearer TOKEN`, or open it once with ?token=TOKEN.",
      { "www-authenticate": 'Bearer realm="percolatordb"' },
    );
  }

  /**
   * The cookie for a token that was given in the address; undefined if it is wrong, or no token is
   * needed.
   */
  cookieFor(request: IncomingMessage, given: string): { name: string; value: string } | undefined {
    const token = this.#token();
    if (token === undefined || !isSame(given, token)) return undefined;
    return { name: cookieName(request), value: cookieOf(token) };
  }

  /** Only the dashboard's own pages, and programs that are no pages, may change anything. */
  checkOrigin({ headers }: IncomingMessage): void {
    const { origin, host } = headers;
    const site = headers["sec-fetch-site"];
    const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
    if (isOwn && (site === undefined || site === "same-origin" || site === "none")) return;
    throw new RequestError(
      403,
      "ORIGIN",
      "The request comes from a page of another origin; the dashboard answers only its own pages.",
    );
  }

  checkWritable(): void {
    if (this.#options.writable) return;
    throw new RequestError(
      403,
      "READ_ONLY",
      "The dashboard is read-only: start it with --writable (`writable: true`), or use the command line.",
    );
  }
}

/** Cookies ignore the port: the name keeps two dashboards of one machine apart. */
function cookieName({ socket }: IncomingMessage): string {
  return `percolator-${socket.localPort ?? 0}`;
}

/** The cookie does not reveal the token, and is worth nothing after the token changes. */
function cookieOf(token: string): string {
  return createHmac("sha256", token).update("percolatordb dashboard").digest("base64url");
}

function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
