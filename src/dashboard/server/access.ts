import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { parse } from "hono/utils/cookie";
import { InvalidArgumentError } from "../../errors/index.js";
import { RequestError } from "./failure.js";
import { hostName, isLoopback, isLoopbackHost } from "./loopback.js";

/** A token; a function is asked at each request, so that the token may change. */
export type TokenSource = string | (() => string | undefined);

export interface AccessOptions {
  readonly token: TokenSource | undefined;
  /** Names by which it may be called besides those of loopback. */
  readonly hosts: readonly string[];
  readonly writable: boolean;
}

const minToken = 16;

/** Refuses a token that cannot be sent, or can be guessed. `what`: whose token it is. */
function checkToken(what: string, token: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new InvalidArgumentError(
      `The token of ${what} must be printable ASCII characters, without spaces.`,
    );
  }
  if (token.length >= minToken) return;
  throw new InvalidArgumentError(
    `The token of ${what} must have at least ${minToken} characters: make one with "openssl rand -hex 32".`,
  );
}

/**
 * The token of each moment; undefined if there never was one. What cannot be one leaves the token before it: a file is empty for a moment while it
 * is written, and a server that asks for a token never ceases to.
 *
 * @throws InvalidArgumentError if the first one cannot be sent, or can be guessed.
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
      // The one before counts.
    }
    return known;
  };
}

/** Whether a request shows the token as `Authorization: Bearer TOKEN`; undefined if it shows none. */
export function hasBearer({ headers }: IncomingMessage, token: string): boolean | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return bearer === undefined ? undefined : isSame(bearer, token);
}

/** Says who may ask, and for what. */
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
   * A page elsewhere may have its name point to this machine: such a request says that name, and is refused. With a token it has none
   * to show, since cookies go by the name.
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
      `The dashboard is not called ${JSON.stringify(request.headers.host ?? "")}: use 127.0.0.1 or localhost, or name it in \`hosts\`.`,
    );
  }

  #refuseDistant({ socket }: IncomingMessage): void {
    if (isLoopback(socket.remoteAddress ?? "")) return;
    throw new RequestError(
      403,
      "FORBIDDEN",
      "Without a token the dashboard answers this machine alone: start it with a token to use it from others.",
    );
  }

  /** Whether it has the token, or the cookie that was given for it. */
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
      "The dashboard asks for its token: as `Authorization: Bearer TOKEN`, or opened once with ?token=TOKEN.",
      { "www-authenticate": 'Bearer realm="percolatordb"' },
    );
  }

  /** The cookie for a token that was given in the address; undefined if it is wrong, or no token is needed. */
  cookieFor(request: IncomingMessage, given: string): { name: string; value: string } | undefined {
    const token = this.#token();
    if (token === undefined || !isSame(given, token)) return undefined;
    return { name: cookieName(request), value: cookieOf(token) };
  }

  /** Only what comes from the dashboard's own pages, or from no page, may change something. */
  checkOrigin({ headers }: IncomingMessage): void {
    const { origin, host } = headers;
    const site = headers["sec-fetch-site"];
    const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
    if (isOwn && (site === undefined || site === "same-origin" || site === "none")) return;
    throw new RequestError(
      403,
      "ORIGIN",
      "This was asked by a page of another origin; the dashboard answers its own alone.",
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

/** Cookies go by the host alone: two dashboards of one machine have two names. */
function cookieName({ socket }: IncomingMessage): string {
  return `percolator-${socket.localPort ?? 0}`;
}

/** The token cannot be computed from its cookie. Another token ends the cookies of the one before. */
function cookieOf(token: string): string {
  return createHmac("sha256", token).update("percolatordb dashboard").digest("base64url");
}

function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
