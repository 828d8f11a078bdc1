import { backoffDelay, type Environment, sleep, type Timer } from "../environment/index.js";
import {
  abortError,
  ClosedError,
  InternalError,
  LimitExceededError,
  PercolatorError,
} from "../errors/index.js";
import { checkRange, checkWhole } from "./leader-options.js";
import type { Oracle } from "./oracle.js";
import { lastTimestamp, type TimestampRange } from "./range.js";
import { within } from "./within.js";

/** What the client of an oracle does about gathering and repeating. */
export interface GatheringOptions {
  readonly environment: Environment;
  /** The most callers that one request serves. Default: 10,000. */
  readonly mostAtOnce?: number | undefined;
  /** The most callers that wait. Default: 100,000. */
  readonly mostWaiting?: number | undefined;
  /** How long to wait for the answer to one request, in milliseconds. Default: 5,000. */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * How long after a caller asked its question is still repeated after failures that are `retryable`, in milliseconds; then it
   * gets the last failure. Longer than a change of leaders takes. Default: 30,000.
   */
  readonly retryForMs?: number | undefined;
}

export interface GatheredOracleOptions extends GatheringOptions {
  /**
   * Asks the oracle for exactly `count` timestamps. Failures are repeated where they are errors of this package with `retryable`
   * true, such as a `NotLeaderError`.
   */
  readonly request: (count: number, signal: AbortSignal) => Promise<TimestampRange>;
  /** Asks for the latest timestamp that was given, for a client that has had none. Default: takes a new one. */
  readonly latest?: ((signal: AbortSignal) => Promise<number>) | undefined;
}

/** An {@link Oracle} that asks another. */
export interface GatheredOracle extends Oracle {
  /**
   * The greatest timestamp that this client has seen: one that was given already, but not always the latest that was given to
   * anybody. A client that has seen none asks.
   */
  latest(): number | Promise<number>;
  /** Refuses all who wait, and all later, with a `ClosedError`. Harmless to repeat. */
  close(): void;
}

interface Caller {
  readonly askedAt: number;
  isSent: boolean;
  isDone: boolean;
  readonly resolve: (timestamp: number) => void;
  readonly reject: (error: unknown) => void;
}

const retrying = { initialMs: 10, maximumMs: 1_000 };

/**
 * The client's half of an oracle (section 2.3 of the paper): gathers the questions of many callers into one request, so that a
 * process has one under way at a time, however many transactions it runs. An answer serves only those who had asked before
 * its request was sent; timestamps are never kept for later callers, since others may have had greater ones by then. Each caller
 * gets a timestamp of its own, in the order in which they asked.
 *
 * ```ts
 * const oracle = gatheredOracle({ environment, request: (count, signal) => leader.next(count, { signal }) });
 * const timestamp = await oracle.next();
 * ```
 */
export function gatheredOracle(options: GatheredOracleOptions): GatheredOracle {
  return new Gatherer(options);
}

class Gatherer implements GatheredOracle {
  readonly #environment: Environment;
  readonly #request: GatheredOracleOptions["request"];
  readonly #askLatest: GatheredOracleOptions["latest"];
  readonly #mostAtOnce: number;
  readonly #mostWaiting: number;
  readonly #timeoutMs: number;
  readonly #retryForMs: number;
  readonly #closing = new AbortController();
  #queue = new Set<Caller>();
  /** Those whom the request under way serves, and what ends it when they have all gone. */
  #sent: { readonly callers: readonly Caller[]; open: number; readonly abort: AbortController } | undefined;
  #pause: Timer | undefined;
  #failures = 0;
  #greatest = 0;

  constructor(options: GatheredOracleOptions) {
    this.#environment = options.environment;
    this.#request = options.request;
    this.#askLatest = options.latest;
    this.#mostAtOnce = options.mostAtOnce ?? 10_000;
    checkWhole("mostAtOnce", this.#mostAtOnce, 1_000_000);
    this.#mostWaiting = options.mostWaiting ?? 100_000;
    checkWhole("mostWaiting", this.#mostWaiting, 10_000_000);
    this.#timeoutMs = options.requestTimeoutMs ?? 5_000;
    checkRange("requestTimeoutMs", this.#timeoutMs, 0.001, 86_400_000);
    this.#retryForMs = options.retryForMs ?? 30_000;
    checkRange("retryForMs", this.#retryForMs, 0, 86_400_000);
  }

  async next(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<number> {
    const { signal } = options;
    if (this.#closing.signal.aborted) throw closedError();
    if (signal?.aborted) throw abortError(signal, "Taking a timestamp");
    if (this.#queue.size + (this.#sent?.open ?? 0) >= this.#mostWaiting) {
      throw new LimitExceededError(
        `${this.#mostWaiting} callers wait for timestamps already. Run fewer transactions at once, or see why the oracle is slow.`,
      );
    }
    return new Promise((resolve, reject) => {
      const end = () => {
        caller.isDone = true;
        signal?.removeEventListener("abort", onAbort);
      };
      const caller: Caller = {
        askedAt: this.#environment.monotonic(),
        isSent: false,
        isDone: false,
        resolve: (timestamp) => {
          end();
          resolve(timestamp);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      const onAbort = () => {
        caller.reject(abortError(signal!, "Taking a timestamp"));
        this.#leave(caller);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.add(caller);
      this.#send();
    });
  }

  latest(): number | Promise<number> {
    if (this.#greatest > 0) return this.#greatest;
    return this.#askLatest === undefined ? this.next() : this.#learnLatest(this.#askLatest);
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    const error = closedError();
    this.#closing.abort(error);
    this.#pause?.cancel();
    const waiting = [...(this.#sent?.callers ?? []), ...this.#queue];
    this.#queue.clear();
    for (const caller of waiting) if (!caller.isDone) caller.reject(error);
    this.#sent?.abort.abort(error);
  }

  async #learnLatest(ask: (signal: AbortSignal) => Promise<number>): Promise<number> {
    const startedAt = this.#environment.monotonic();
    for (let attempt = 1; ; attempt++) {
      try {
        const latest = await this.#within(this.#closing.signal, ask);
        if (!Number.isSafeInteger(latest) || latest < 0 || latest > lastTimestamp)
          throw notATimestamp(latest);
        this.#greatest = Math.max(this.#greatest, latest);
        return this.#greatest;
      } catch (error) {
        if (!isRetryable(error) || this.#environment.monotonic() - startedAt >= this.#retryForMs) throw error;
        await sleep(
          this.#environment,
          backoffDelay(this.#environment, retrying, attempt),
          this.#closing.signal,
        );
      }
    }
  }

  /** Somebody waits no longer. */
  #leave(caller: Caller): void {
    this.#queue.delete(caller);
    if (!caller.isSent || this.#sent === undefined) return;
    this.#sent.open--;
    if (this.#sent.open === 0) this.#sent.abort.abort();
  }

  /** Sends one request for all who wait, unless one is under way or a pause is. */
  #send(): void {
    if (this.#sent !== undefined || this.#pause !== undefined || this.#queue.size === 0) return;
    const callers: Caller[] = [];
    for (const caller of this.#queue) {
      if (callers.length === this.#mostAtOnce) break;
      caller.isSent = true;
      callers.push(caller);
      this.#queue.delete(caller);
    }
    const abort = new AbortController();
    // What is learned while the request is under way may be greater than its answer.
    const floor = this.#greatest;
    this.#sent = { callers, open: callers.length, abort };
    const end = () => {
      this.#sent = undefined;
    };
    this.#within(abort.signal, (signal) => this.#request(callers.length, signal)).then(
      (range) => {
        end();
        this.#answer(callers, range, floor);
      },
      (error: unknown) => {
        end();
        this.#fail(callers, error);
      },
    );
  }

  #answer(callers: readonly Caller[], range: TimestampRange, floor: number): void {
    const defect = defectOf(range, callers.length, floor);
    if (defect !== undefined) {
      this.#fail(callers, defect);
      return;
    }
    this.#failures = 0;
    this.#greatest = Math.max(this.#greatest, range.first + range.count - 1);
    for (const [index, caller] of callers.entries()) if (!caller.isDone) caller.resolve(range.first + index);
    this.#send();
  }

  #fail(callers: readonly Caller[], error: unknown): void {
    const open = callers.filter((caller) => !caller.isDone);
    if (open.length > 0 && !this.#closing.signal.aborted) {
      const now = this.#environment.monotonic();
      const mayRepeat = (caller: Caller) => isRetryable(error) && now - caller.askedAt < this.#retryForMs;
      const again = open.filter(mayRepeat);
      for (const caller of open) if (!mayRepeat(caller)) caller.reject(error);
      if (again.length > 0) this.#repeatLater(again);
    }
    this.#send();
  }

  /** Those who waited longest stay first. Who joins them meanwhile has asked before the next request is sent, too. */
  #repeatLater(callers: readonly Caller[]): void {
    for (const caller of callers) caller.isSent = false;
    this.#queue = new Set([...callers, ...this.#queue]);
    this.#failures++;
    const delayMs = backoffDelay(this.#environment, retrying, this.#failures);
    this.#pause = this.#environment.setTimer(() => {
      this.#pause = undefined;
      this.#send();
    }, delayMs);
  }

  #within<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const doing = "Asking the oracle for timestamps";
    return within({ environment: this.#environment, timeoutMs: this.#timeoutMs, signal, doing }, ask);
  }
}

/** What is wrong with an answer that would break what rests on timestamps: it must reach nobody. */
function defectOf({ first, count }: TimestampRange, asked: number, floor: number): Error | undefined {
  if (count !== asked) {
    return new InternalError(`The oracle was asked for ${asked} timestamps and gave ${count}. Is it one?`);
  }
  const isUsable = Number.isSafeInteger(first) && first >= 1 && first + count - 1 <= lastTimestamp;
  if (!isUsable) return notATimestamp(first);
  if (first > floor) return undefined;
  return new InternalError(
    `The oracle gave ${first} after ${floor}: timestamps have gone back. Stop all that write, and find out ` +
      "whether two oracles serve one database, or its row was put back from a backup.",
  );
}

function isRetryable(error: unknown): boolean {
  return error instanceof PercolatorError && error.retryable;
}

function closedError(): ClosedError {
  return new ClosedError("The client of the oracle was closed, and takes no timestamps.");
}

function notATimestamp(value: unknown): InternalError {
  return new InternalError(`The oracle gave ${String(value)}, which is no timestamp. Is it one?`);
}
