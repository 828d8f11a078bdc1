import type { Environment } from "../../environment/index.js";
import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";

/** Which pages of other origins may read a response. */
export interface CorsOptions {
  /** Origins such as `https://shop.example`, or `"*"` for all. */
  readonly origins: readonly string[] | "*";
  /** Whether browsers may send cookies. Not with `"*"`. Default: false. */
  readonly credentials?: boolean | undefined;
  /**
   * Headers that clients may send in addition to `Authorization`, `Cache-Control` and
   * `Last-Event-ID`. Default: none.
   */
  readonly headers?: readonly string[] | undefined;
}

/** The options that {@link liveResponse} and {@link feedResponse} have in common. */
export interface StreamOptions {
  /**
   * Decides about each request before anything else is done for it. The client gets 403 unless it
   * returns true, or the `Response` that it returns. If it throws, the client gets 500 without the
   * message. It is called again when a client reconnects: see `maxAgeMs`. Default: every request is
   * allowed.
   */
  readonly authorize?: ((request: Request) => boolean | Response | Promise<boolean | Response>) | undefined;
  /**
   * Pages of other origins that may read the response. The server must pass requests with the method
   * `OPTIONS` on too, as `app.all` does. Default: none.
   */
  readonly cors?: CorsOptions | undefined;
  /** Compresses the response if the client accepts gzip. Takes about 50 KB of memory. Default: false. */
  readonly gzip?: boolean | undefined;
  /**
   * Time after which a client that gets nothing else gets a comment, in milliseconds. Default:
   * 15,000: shorter than the time after which proxies end silent connections.
   */
  readonly heartbeatMs?: number | undefined;
  /** Time after which a client that takes nothing is ended, in milliseconds. Default: 30,000. */
  readonly slowMs?: number | undefined;
  /**
   * Time after which a connection is ended, in milliseconds. The client reconnects, is authorized
   * again, and misses nothing. Default: no limit.
   */
  readonly maxAgeMs?: number | undefined;
  /**
   * The most bytes of one event's JSON. A larger result or transaction ends the response with an
   * `error` event with the code `LIMIT_EXCEEDED`. Default: 1,048,576.
   */
  readonly maxBytes?: number | undefined;
  /**
   * The most responses of the database in this process. Further clients get 503 with `Retry-After`.
   * Default: 10,000.
   */
  readonly maxConnections?: number | undefined;
  /** Called with each error of `authorize` and of reading. Clients get only its code. Default: none. */
  readonly onError?: ((error: unknown, request: Request) => void) | undefined;
  /** Time and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/** The options of {@link liveResponse}. Each has a default. */
export interface LiveResponseOptions extends StreamOptions {
  /** The least time between two runs of the query, in milliseconds. Default: that of `db.live`. */
  readonly throttleMs?: number | undefined;
  /** The most time that a run of the query may take, in milliseconds. Default: that of `db.live`. */
  readonly timeoutMs?: number | undefined;
}

/** The options of {@link feedResponse}. Each has a default. */
export interface FeedResponseOptions extends StreamOptions {
  /**
   * Whether a client that has nothing yet, or that was away for longer than the feed keeps its
   * changes, first gets every cell of the feed's columns. Default: false. The client then gets
   * changes only, and 410 after it was away for too long.
   */
  readonly snapshot?: boolean | undefined;
  /** The most transactions that one read of the feed takes. Default: 100. */
  readonly batch?: number | undefined;
}

const common: OptionNames<StreamOptions> = {
  authorize: true,
  cors: true,
  gzip: true,
  heartbeatMs: true,
  slowMs: true,
  maxAgeMs: true,
  maxBytes: true,
  maxConnections: true,
  onError: true,
  environment: true,
};
const ofLive: OptionNames<LiveResponseOptions> = { ...common, throttleMs: true, timeoutMs: true };
const ofFeed: OptionNames<FeedResponseOptions> = { ...common, snapshot: true, batch: true };
const ofCors: OptionNames<CorsOptions> = { origins: true, credentials: true, headers: true };

/** The least value of each option that is a number. */
const least = {
  heartbeatMs: 1,
  slowMs: 1,
  maxAgeMs: 1,
  maxBytes: 1,
  maxConnections: 1,
  throttleMs: 0,
  timeoutMs: 1,
} as const;
/** That of `db.changes`. */
const maxBatch = 100_000;

/** Throws an InvalidArgumentError if an option of `liveResponse` is unknown or invalid. */
export function checkLiveOptions(options: LiveResponseOptions): void {
  check("liveResponse", options, ofLive);
}

/** Throws an InvalidArgumentError if an option of `feedResponse` is unknown or invalid. */
export function checkFeedOptions(options: FeedResponseOptions): void {
  check("feedResponse", options, ofFeed);
  const { batch = 1 } = options;
  if (Number.isSafeInteger(batch) && batch >= 1 && batch <= maxBatch) return;
  throw new InvalidArgumentError(
    `\`batch\` of \`feedResponse\` must be a whole number from 1 to ${maxBatch}, not ${describeValue(batch)}.`,
  );
}

function check<O extends StreamOptions>(call: string, options: O, names: OptionNames<O>): void {
  checkOptionNames(call, options, names);
  for (const [name, minimum] of Object.entries(least)) {
    const value = (options as LiveResponseOptions)[name as keyof typeof least];
    if (value === undefined || (Number.isFinite(value) && value >= minimum)) continue;
    throw new InvalidArgumentError(
      `\`${name}\` of \`${call}\` must be a number of at least ${minimum}, not ${describeValue(value)}.`,
    );
  }
  for (const name of ["authorize", "onError"] as const) {
    const value = options[name];
    if (value === undefined || typeof value === "function") continue;
    throw new InvalidArgumentError(
      `\`${name}\` of \`${call}\` must be a function, not ${describeValue(value)}.`,
    );
  }
  if (options.cors !== undefined) checkCors(call, options.cors);
}

function checkCors(call: string, cors: CorsOptions): void {
  checkOptionNames(`cors of ${call}`, cors, ofCors);
  const { origins, credentials = false } = cors;
  if (origins === "*") {
    if (!credentials) return;
    throw new InvalidArgumentError(
      `\`cors.credentials\` of \`${call}\` needs a list of \`origins\`: with "*", any page could read a user's data.`,
    );
  }
  const isOrigin = (each: unknown) =>
    typeof each === "string" && URL.canParse(each) && new URL(each).origin === each;
  if (Array.isArray(origins) && origins.every(isOrigin)) return;
  throw new InvalidArgumentError(
    `\`cors.origins\` of \`${call}\` must be "*", or origins such as "https://shop.example" without a path, not ${describeValue(origins)}.`,
  );
}
