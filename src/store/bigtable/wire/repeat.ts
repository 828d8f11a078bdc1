import { abortError, backoffDelay, type Environment, onAbort } from "../../../environment/index.js";
import { type Metadata, status } from "../packages.js";
import { cookiesOf, joinCookies, type RoutingCookies, withCookies } from "./cookies.js";
import { metadataOf, retryDelayMs } from "./retry-info.js";
import { codeOf, mayPass } from "./status.js";

export interface RepeatOptions {
  readonly environment: Environment;
  /**
   * The time limit of the first request, in milliseconds. Each request without an answer doubles
   * the time limit of the next one.
   */
  readonly deadlineMs: number;
  /** How long a call is retried, in milliseconds from its beginning. */
  readonly retryForMs: number;
  /** Aborted when the store is closed. That ends all retries and waits. */
  readonly closing: AbortSignal;
}

const backoff = { initialMs: 20, maximumMs: 1_000 };

/**
 * The attempts of one call that can be retried: the deadline of each, and whether and when another
 * one follows.
 */
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

  /** The routing cookies of the failures so far, for a call that continues this one. */
  get cookies(): RoutingCookies | undefined {
    return this.#cookies;
  }

  /** The deadline and the metadata of the next request. */
  call(metadata: Metadata): { readonly deadlineMs: number; readonly metadata: Metadata } {
    const left = this.#until - this.#options.environment.monotonic();
    const deadlineMs = Math.min(this.#deadlineMs, Math.max(1, left));
    return { deadlineMs, metadata: withCookies(metadata, this.#cookies) };
  }

  /**
   * Waits until the call can be retried, and returns true. Returns false if the call must not be
   * retried. If the service asks for a delay, the usual backoff is added to it, so that not all
   * clients retry at the same moment.
   */
  async again(error: unknown, signal: AbortSignal | undefined, doing: string): Promise<boolean> {
    const { environment, closing } = this.#options;
    this.#note(error);
    const wait = (retryDelayMs(error) ?? 0) + backoffDelay(environment, backoff, ++this.#failed);
    if (!mayPass(error) || closing.aborted || environment.monotonic() + wait >= this.#until) return false;
    // The request took longer than its deadline, so a retry with the same deadline would probably
    // fail too.
    if (codeOf(error) === status.DEADLINE_EXCEEDED) this.#deadlineMs *= 2;
    await pause(environment, wait, [signal, closing]);
    if (signal?.aborted) throw abortError(signal, doing);
    return !closing.aborted;
  }

  /**
   * For a call that ends with a partial result: waits as long as the service asks, because the
   * caller will continue at once.
   */
  async hold(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    this.#note(error);
    await holdBack(this.#options, error, this.#until, signal);
  }

  #note(error: unknown): void {
    this.#cookies = joinCookies(this.#cookies, cookiesOf(metadataOf(error)));
  }
}

/**
 * Retries until the service answers, a retry cannot help, or the time is over. In the last two
 * cases, rejects with the last failure.
 */
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
 * Waits as long as the service asks, at most until the monotonic time `until`. The store does not
 * retry a mutation, but its caller may. The store therefore waits before it answers the caller.
 * Returns undefined if there is nothing to wait for.
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

/** Waits. Ends early if one of the signals is aborted. */
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
