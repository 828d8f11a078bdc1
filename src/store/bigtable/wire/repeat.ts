import { abortError, backoffDelay, type Environment, onAbort } from "../../../environment/index.js";
import { type Metadata, status } from "../packages.js";
import { cookiesOf, joinCookies, type RoutingCookies, withCookies } from "./cookies.js";
import { metadataOf, retryDelayMs } from "./retry-info.js";
import { codeOf, mayPass } from "./status.js";

export interface RepeatOptions {
  readonly environment: Environment;
  /** Of the first request; each that repeats one which was not answered in time gets twice as long as that. */
  readonly deadlineMs: number;
  /** How long after its beginning a call is still repeated. */
  readonly retryForMs: number;
  /** Aborted when the store is closed: nothing is repeated from then on, and no wait goes on. */
  readonly closing: AbortSignal;
}

const backoff = { initialMs: 20, maximumMs: 1_000 };

/** The attempts of one call that may be made again: how long each may take, and whether and when another follows. */
export class Attempts {
  readonly #options: RepeatOptions;
  readonly #until: number;
  #deadlineMs: number;
  #failed = 0;
  #cookies: RoutingCookies | undefined;

  constructor(
    options: RepeatOptions,
    began = options.environment.monotonic(),
    cookies: RoutingCookies | undefined = undefined,
  ) {
    this.#options = options;
    this.#until = began + options.retryForMs;
    this.#deadlineMs = options.deadlineMs;
    this.#cookies = cookies;
  }

  /** What the service said with the failures so far, for a call that goes on where this one ends. */
  get cookies(): RoutingCookies | undefined {
    return this.#cookies;
  }

  /** How long the next request may take, and what goes with it. */
  call(metadata: Metadata): { readonly deadlineMs: number; readonly metadata: Metadata } {
    const left = this.#until - this.#options.environment.monotonic();
    const deadlineMs = Math.min(this.#deadlineMs, Math.max(1, left));
    return { deadlineMs, metadata: withCookies(metadata, this.#cookies) };
  }

  /**
   * Waits until the call may be made again after a failure; false if it may not be. If the service says how long to wait, the
   * usual backoff comes on top of that, so that not all clients come back in the same moment.
   */
  async again(error: unknown, signal: AbortSignal | undefined, doing: string): Promise<boolean> {
    const { environment, closing } = this.#options;
    this.#note(error);
    const wait = (retryDelayMs(error) ?? 0) + backoffDelay(environment, backoff, ++this.#failed);
    if (!mayPass(error) || closing.aborted || environment.monotonic() + wait >= this.#until) return false;
    // What was too much for the time that it had is as much the next time.
    if (codeOf(error) === status.DEADLINE_EXCEEDED) this.#deadlineMs *= 2;
    await pause(environment, wait, [signal, closing]);
    if (signal?.aborted) throw abortError(signal, doing);
    return !closing.aborted;
  }

  /** For a call that ends with what it has: waits as long as the service asks, since the caller goes on at once. */
  async hold(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    this.#note(error);
    await holdBack(this.#options, error, this.#until, signal);
  }

  #note(error: unknown): void {
    this.#cookies = joinCookies(this.#cookies, cookiesOf(metadataOf(error)));
  }
}

/** Asks until there is an answer, or a failure that does not pass, or the time is over: rejects with the last failure. */
export async function repeated<Answer>(
  options: RepeatOptions,
  metadata: Metadata,
  ask: (call: { readonly deadlineMs: number; readonly metadata: Metadata }) => Promise<Answer>,
): Promise<Answer> {
  const attempts = new Attempts(options);
  for (;;) {
    try {
      return await ask(attempts.call(metadata));
    } catch (error) {
      if (!(await attempts.again(error, undefined, "A request"))) throw error;
    }
  }
}

/**
 * Waits as long as the service asks before the next try, at most until the monotonic time `until`. The store does not repeat a
 * mutation; the caller, which may, gets its answer no sooner. Undefined if there is nothing to wait for.
 */
export function holdBack(
  { environment, closing }: Pick<RepeatOptions, "environment" | "closing">,
  error: unknown,
  until: number,
  signal: AbortSignal | undefined,
): Promise<void> | undefined {
  const delay = retryDelayMs(error);
  if (delay === undefined) return undefined;
  return pause(environment, Math.min(delay, until - environment.monotonic()), [signal, closing]);
}

/** Waits; ends sooner if one of the signals is aborted. */
function pause(
  environment: Environment,
  delayMs: number,
  signals: readonly (AbortSignal | undefined)[],
): Promise<void> {
  if (delayMs <= 0 || signals.some((signal) => signal?.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      for (const stop of stopListening) stop();
      resolve();
    };
    const timer = environment.setTimer(end, delayMs);
    const stopListening = signals.map((signal) => onAbort(signal, end));
  });
}
