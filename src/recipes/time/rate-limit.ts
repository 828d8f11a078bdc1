import {
  type AnyTable,
  type Column,
  type Database,
  type Environment,
  float,
  type KeyCodec,
  LimitExceededError,
  systemEnvironment,
  type Transaction,
  table,
} from "../../index.js";
import { callsInTurn } from "../in-turn.js";
import { keyText } from "../key-text.js";
import { checkOptions, numberOption } from "../options.js";
import { columnOf } from "../view.js";
import { sleepOrEnd } from "./sleep.js";

/** What {@link rateLimit} is told of a limit. */
export interface RateLimitOptions<K = string> {
  /** What is limited, each key by itself. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** Tokens that come back in a second. */
  readonly perSecond: number;
  /** The most tokens that a key saves up: how many may be taken at once. Default: `perSecond`, at least 1. */
  readonly burst?: number | undefined;
  /** Whose time it is. Processes that share a limit should agree on the time. Default: the system's. */
  readonly environment?: Environment | undefined;
}

/** How {@link RateLimit.take} takes tokens. */
export interface TakeOptions {
  /** How many tokens. Default: 1. */
  readonly tokens?: number | undefined;
  /** How long the taker would wait, in milliseconds, at the most. Default: 0. */
  readonly maxWaitMs?: number | undefined;
}

/** How {@link RateLimit.acquire} takes tokens and waits for them. */
export interface AcquireOptions extends TakeOptions {
  /** Gives the waiting up; tokens that were taken by then stay taken. */
  readonly signal?: AbortSignal | undefined;
}

/** What became of a wish for tokens. */
export interface Taken {
  /** Whether they were taken; if not, nothing was. */
  readonly isGranted: boolean;
  /** Granted: how long to wait before they may be used. Else: how long to wait before it is worth asking again. Milliseconds. */
  readonly waitMs: number;
}

/** The tokens would come later than the taker would wait. None were taken. */
export class RateLimitError extends LimitExceededError {
  readonly limit: string;
  /** When it is worth asking again, in milliseconds from now. */
  readonly waitMs: number;

  constructor(limit: string, key: string, waitMs: number) {
    super(
      `Rate limit "${limit}", key ${JSON.stringify(key)}: no tokens are left. Ask again in ${Math.ceil(waitMs)} ms, or allow to wait ` +
        "with `maxWaitMs`.",
    );
    this.limit = limit;
    this.waitMs = waitMs;
  }
}

/** Buckets of tokens that fill with time. Made by {@link rateLimit}. */
export class RateLimit<K = string> {
  readonly name: string;
  /** The buckets. */
  readonly table: AnyTable;
  readonly #environment: Environment;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #format: (key: K) => string;
  /** The time at which a bucket is, or was, full: in milliseconds since 1970. None: it is full. */
  readonly #fullAt: Column<number, K>;
  /** Who is taking for a key in this process: one after the other, in the order of asking. */
  readonly #lines = new Map<string, Promise<unknown>>();
  readonly #inTurn = callsInTurn();

  /** @internal */
  constructor(name: string, options: RateLimitOptions<K>) {
    this.name = name;
    this.#environment = options.environment ?? systemEnvironment;
    this.#perMs = numberOption("perSecond", options.perSecond, 1e-6, 1e9) / 1_000;
    this.#burst = numberOption("burst", options.burst ?? Math.max(1, options.perSecond), 1e-6, 1e12);
    this.#format = keyText(options.key).format;
    const buckets = table(name, { fullAt: float() }, { key: options.key });
    this.table = buckets;
    this.#fullAt = columnOf(buckets, "fullAt");
  }

  /**
   * Takes tokens, with the transaction's commit. Those that are not there yet can be taken ahead, up to `maxWaitMs`: whoever comes
   * later then waits longer, so that takers are served in the order in which they commit.
   */
  async take(tx: Transaction, key: NoInfer<K>, options: TakeOptions = {}): Promise<Taken> {
    checkOptions("take", options, { tokens: "any", maxWaitMs: "any" });
    return this.#inTurn(tx, () => this.#take(tx, key, options));
  }

  async #take(tx: Transaction, key: K, options: TakeOptions): Promise<Taken> {
    const tokens = numberOption("tokens", options.tokens ?? 1, 0, this.#burst);
    const maxWaitMs = numberOption("maxWaitMs", options.maxWaitMs ?? 0, 0, 8.64e15);
    const now = this.#environment.now();
    const from = Math.max(now, (await tx.get(this.#fullAt, key)) ?? now);
    const fullAt = from + tokens / this.#perMs;
    // A bucket that is full again `burst` tokens from now is empty now; one that is full later owes the rest.
    const waitMs = Math.max(0, fullAt - now - this.#burst / this.#perMs);
    if (!isAtMost(waitMs, maxWaitMs)) return { isGranted: false, waitMs: waitMs - maxWaitMs };
    tx.set(this.#fullAt, key, fullAt);
    return { isGranted: true, waitMs };
  }

  /**
   * Takes tokens in a transaction of its own, and waits until they may be used. Callers of one process are served in the order
   * in which they called, and do not conflict with each other.
   *
   * @throws RateLimitError where that would take longer than `maxWaitMs`; what the signal was aborted with.
   */
  async acquire(db: Database, key: NoInfer<K>, options: AcquireOptions = {}): Promise<void> {
    checkOptions("acquire", options, { tokens: "any", maxWaitMs: "any", signal: "any" });
    const { signal, ...wanted } = options;
    signal?.throwIfAborted();
    const { isGranted, waitMs } = await this.#inLine(this.#format(key), signal, () =>
      db.transact((tx) => this.take(tx, key, wanted), { signal, label: this.name }),
    );
    if (!isGranted) throw new RateLimitError(this.name, this.#format(key), waitMs);
    if (waitMs > 0) await sleepOrEnd(this.#environment, waitMs, signal);
    signal?.throwIfAborted();
  }

  /** Who gives up waits no longer for those before, and those behind still do. */
  #inLine<T>(key: string, signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    const before = this.#lines.get(key) ?? Promise.resolve();
    const running = untilAborted(before, signal).then(run);
    const ended = running.then(nothing, nothing);
    const last = before.then(() => ended);
    this.#lines.set(key, last);
    void last.then(() => {
      if (this.#lines.get(key) === last) this.#lines.delete(key);
    });
    return running;
  }
}

function nothing(): void {}

/** Waits for what never rejects; rejects with the signal's reason as soon as it is aborted. */
function untilAborted(waited: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal === undefined) return waited;
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    void waited.then(() => {
      signal.removeEventListener("abort", giveUp);
      resolve(undefined);
    });
  });
}

/** Times of today, in milliseconds, are known to a few ten-thousandths of one. */
function isAtMost(a: number, b: number): boolean {
  return a <= b + 0.001;
}

/**
 * Limits how often something happens, over all processes: a bucket of tokens for each key, in a row, that fills with time.
 *
 * Declares the table `NAME`.
 *
 * @example
 * const fetches = rateLimit("fetches", { perSecond: 2, burst: 5 });
 * await fetches.acquire(db, host, { maxWaitMs: 60_000, signal });
 */
export function rateLimit<K = string>(name: string, options: RateLimitOptions<K>): RateLimit<K> {
  checkOptions("rateLimit", options, { key: "any", perSecond: "any", burst: "any", environment: "any" });
  return new RateLimit(name, options);
}
