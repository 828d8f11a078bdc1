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
import { quiet } from "../quiet.js";
import { checkDatabase, checkTransaction, columnOf } from "../view.js";
import { sleepOrEnd, unlessAborted } from "../waiting.js";

/** The options of {@link rateLimit}. */
export interface RateLimitOptions<K = string> {
  /** Codec of the keys. Each key has a limit of its own. Default: strings. */
  readonly key?: KeyCodec<K> | undefined;
  /** Tokens that are added to each key in a second. From 0.000001 to 1,000,000,000. */
  readonly perSecond: number;
  /**
   * Most tokens that a key can save up, and so the most that one call can take. From 0.000001 to
   * 1,000,000,000,000. Default: `perSecond`, but at least 1.
   */
  readonly burst?: number | undefined;
  /**
   * Supplies the time. The clocks of all processes that share a limit should agree. Default: the
   * system's.
   */
  readonly environment?: Environment | undefined;
}

/** The options of {@link RateLimit.take}. Each has a default. */
export interface TakeOptions {
  /** Number of tokens to take. Default: 1. */
  readonly tokens?: number | undefined;
  /**
   * Longest time that the caller is willing to wait for the tokens, in milliseconds. Default: 0.
   */
  readonly maxWaitMs?: number | undefined;
}

/** The options of {@link RateLimit.acquire}. Each has a default. */
export interface AcquireOptions extends TakeOptions {
  /**
   * Stops the wait when it is aborted. Tokens that were already taken stay taken. Default: none.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The result of {@link RateLimit.take}. */
export interface Taken {
  /** Whether the tokens were taken. If not, nothing was written. */
  readonly isGranted: boolean;
  /**
   * Milliseconds to wait. If the tokens were granted, the caller may go ahead after that time. If
   * not, the caller should not ask again before that time has passed.
   */
  readonly waitMs: number;
}

/**
 * Thrown if the tokens would come later than the caller is willing to wait. No tokens were taken.
 */
export class RateLimitError extends LimitExceededError {
  readonly limit: string;
  /** Milliseconds until it is worth asking again. */
  readonly waitMs: number;

  constructor(limit: string, key: string, waitMs: number) {
    super(
      `Rate limit "${limit}", key ${JSON.stringify(key)}: no tokens are left. Ask again in ${Math.ceil(waitMs)} ms, or let the call wait ` +
        "with `maxWaitMs`.",
    );
    this.limit = limit;
    this.waitMs = waitMs;
  }
}

/** Token buckets that refill with time, one for each key. {@link rateLimit} creates it. */
export class RateLimit<K = string> {
  readonly name: string;
  /** The table of the buckets. List it in `tables` of `open`. */
  readonly table: AnyTable;
  readonly #environment: Environment;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #format: (key: K) => string;
  /**
   * The time at which a bucket is full, in milliseconds since 1970. A missing value means that the
   * bucket is full now.
   */
  readonly #fullAt: Column<number, K>;
  /**
   * The last caller of {@link acquire} for each key in this process. Callers are served in the
   * order of their calls.
   */
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
   * Takes tokens. They are taken when the transaction commits. A call may take tokens up to
   * `maxWaitMs` before they exist. Later callers then wait longer, so callers are served in the
   * order of their commits.
   */
  take(tx: Transaction, key: NoInfer<K>, options: TakeOptions = {}): Promise<Taken> {
    return quiet(this.#takeInTurn(tx, key, options));
  }

  async #takeInTurn(tx: Transaction, key: K, options: TakeOptions): Promise<Taken> {
    checkTransaction("take", tx);
    checkOptions("take", options, { tokens: "any", maxWaitMs: "any" });
    return this.#inTurn(tx, () => this.#take(tx, key, options));
  }

  async #take(tx: Transaction, key: K, options: TakeOptions): Promise<Taken> {
    const tokens = numberOption("tokens", options.tokens ?? 1, 0, this.#burst);
    const maxWaitMs = numberOption("maxWaitMs", options.maxWaitMs ?? 0, 0, 8.64e15);
    const now = this.#environment.now();
    const from = Math.max(now, (await tx.get(this.#fullAt, key)) ?? now);
    const fullAt = from + tokens / this.#perMs;
    // An empty bucket takes `burst / perMs` milliseconds to fill. A bucket that takes longer is in
    // debt, and the call must wait for the difference.
    const waitMs = Math.max(0, fullAt - now - this.#burst / this.#perMs);
    if (!isAtMost(waitMs, maxWaitMs)) return { isGranted: false, waitMs: waitMs - maxWaitMs };
    tx.set(this.#fullAt, key, fullAt);
    return { isGranted: true, waitMs };
  }

  /**
   * Takes tokens in a transaction of its own, and waits until the caller may go ahead. Callers of
   * one process are served in the order of their calls and do not conflict with each other.
   *
   * @throws RateLimitError if the wait would be longer than `maxWaitMs`.
   * @throws the signal's reason if it is aborted, or, while the tokens are being taken, an AbortedError
   * with this reason as its cause.
   */
  async acquire(db: Database, key: NoInfer<K>, options: AcquireOptions = {}): Promise<void> {
    checkDatabase("acquire", db);
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

  /**
   * Runs `run` after the earlier callers of the same key. A caller that is aborted stops waiting
   * for earlier callers. Callers after it still wait for those earlier callers.
   */
  #inLine<T>(key: string, signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    const before = this.#lines.get(key) ?? Promise.resolve();
    const running = unlessAborted(before, signal).then(run);
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

/**
 * Compares with a tolerance. A double can hold the current time in milliseconds only to within a
 * few ten-thousandths of a millisecond.
 */
function isAtMost(a: number, b: number): boolean {
  return a <= b + 0.001;
}

/**
 * Creates a limit on how often something may happen, over all processes. Each key has a token
 * bucket, in a row of its own, that refills with time.
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
