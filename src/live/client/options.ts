/**
 * - `connecting`: a request is under way.
 * - `open`: the server has accepted it. New values arrive.
 * - `waiting`: the connection failed or ended. The next attempt comes after a pause.
 * - `closed`: nothing more comes, because of `close`, the signal, or a final error.
 */
export type LiveState = "connecting" | "open" | "waiting" | "closed";

/** Time and randomness. An `Environment` of `percolatordb` is one. */
export interface LiveClientEnvironment {
  /** Runs `callback` once after `delayMs` milliseconds, unless the timer is cancelled first. */
  setTimer(callback: () => void, delayMs: number): { cancel(): void };
  /** A number in [0, 1). */
  random(): number;
}

/** What {@link live} and {@link feed} take besides their own options. Each has a default. */
export interface LiveClientOptions {
  /**
   * Called with each failure. Unless its `isFinal` is true, the client connects again by itself.
   * Default: none.
   */
  readonly onError?: ((error: LiveError) => void) | undefined;
  /** Called when the state of the connection changes. Default: none. */
  readonly onState?: ((state: LiveState) => void) | undefined;
  /**
   * Headers of each request, such as `Authorization`. A function is called for each attempt, so that
   * a token can change. Default: none.
   */
  readonly headers?:
    | Readonly<Record<string, string>>
    | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /** Whether other origins get cookies: `"include"`. Default: `"same-origin"`. */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** Closes the subscription. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The id of the last event that the program has handled, to continue after it. Default: none. */
  readonly lastEventId?: string | undefined;
  /**
   * Time after which a silent connection counts as dead, in milliseconds. It must be longer than the
   * server's heartbeat. Default: 40,000.
   */
  readonly quietMs?: number | undefined;
  /**
   * The longest pause before the next attempt, in milliseconds. A `Retry-After` of the server adds at
   * most as much. Default: 30,000.
   */
  readonly maxRetryMs?: number | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Time and randomness. Default: those of the browser. */
  readonly environment?: LiveClientEnvironment | undefined;
}

/** A failed connection, a refused request, or an error that the server reports. */
export class LiveError extends Error {
  /**
   * `NETWORK` if the server did not answer or the connection broke, `QUIET` if it has sent nothing
   * for `quietMs`, `HANDLER` if the program's own function threw, `HTTP` for a response that is none
   * of `percolatordb/live`, else the code that the server reports.
   */
  readonly code: string;
  /** Whether the client gives up. */
  readonly isFinal: boolean;
  /** The HTTP status, if the server refused the request. */
  readonly status: number | undefined;

  constructor(
    code: string,
    message: string,
    { isFinal = false, status, cause }: { isFinal?: boolean; status?: number; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = "LiveError";
    this.code = code;
    this.isFinal = isFinal;
    this.status = status;
  }
}

/** A running subscription. To read it with a loop, leave its callback out. */
export interface LiveSubscription<T> extends AsyncIterable<T> {
  readonly state: LiveState;
  /** Ends the connection. Nothing is called afterwards, except `onState` with `closed`. */
  close(): void;
}
