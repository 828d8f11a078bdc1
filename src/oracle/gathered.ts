import {
  abortError,
  backoffDelay,
  type Environment,
  onAbort,
  type Timer,
  unlessAborted,
} from "../environment/index.js";
import {
  ClosedError,
  InternalError,
  isRetryable,
  LimitExceededError,
  type PercolatorError,
} from "../errors/index.js";
import { AbortableCaller, CallerGroup } from "./caller-group.js";
import { checkRange, checkWhole } from "./leader-options.js";
import type { Oracle } from "./oracle.js";
import { lastTimestamp, type TimestampRange } from "./range.js";

/** How the client of an oracle gathers callers and repeats requests. */
export interface GatheringOptions {
  readonly environment: Environment;
  /** The most callers that one request serves. Default: 10,000. */
  readonly maxAtOnce?: number | undefined;
  /** The most callers that wait at the same time. Default: 100,000. */
  readonly maxWaiting?: number | undefined;
  /**
   * How long the client repeats a caller's request after `retryable` failures, in milliseconds from
   * the call. After that, the caller gets the last failure. Default: 30,000, longer than a change
   * of leaders takes.
   */
  readonly retryForMs?: number | undefined;
}

export interface GatheredOracleOptions extends GatheringOptions {
  /**
   * Asks the oracle for exactly `count` timestamps. The promise must settle within a bounded time,
   * for example with {@link within}. The client repeats the request after an error of this package
   * with `retryable` true, such as a `NotLeaderError`.
   */
  readonly request: (count: number, signal: AbortSignal) => Promise<TimestampRange>;
  /** Called once, when the client is closed. */
  readonly onClose?: (() => void) | undefined;
}

/** The client of an {@link Oracle} that may be in another process. */
export interface GatheredOracle extends Oracle {
  /**
   * The greatest timestamp that this client has seen. Other clients may have received greater ones.
   * A client that has seen no timestamp takes a new one.
   */
  latest(): number | Promise<number>;
  /**
   * Rejects all waiting and later callers with a `ClosedError`. A repeated call has no further
   * effect.
   */
  close(): void;
}

/** Callers that ask within this many milliseconds go into one group. */
const groupMs = 5;
const retrying = { initialMs: 10, maximumMs: 1_000 };

/**
 * The client half of an oracle (section 2.3 of the paper). It gathers many callers into one
 * request, so that a process has only one request in flight, however many transactions it runs.
 * Each caller gets its own timestamp, in the order of the calls.
 *
 * An answer serves only callers that asked before its request was sent. The client never keeps
 * timestamps for later callers, since other processes may have received greater ones by then.
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
  readonly #onClose: (() => void) | undefined;
  readonly #maxAtOnce: number;
  readonly #maxWaiting: number;
  readonly #retryForMs: number;
  #requests = 0;
  #isClosed = false;
  /** The groups of callers that wait for a request, in order. The last one takes new callers. */
  #queue: CallerGroup[] = [];
  /**
   * The groups that the request in flight serves, and the controller that aborts the request if no
   * caller of these groups waits any more.
   */
  #sent: { readonly groups: readonly CallerGroup[]; readonly abort: AbortController } | undefined;
  /** Number of waiting callers in all groups. */
  #waiting = 0;
  /**
   * Whether callers were just answered. They are likely to ask again at once, so the next request
   * waits for the end of the current microtasks.
   */
  #isGathering = false;
  #pause: Timer | undefined;
  #failures = 0;
  #greatest = 0;

  constructor(options: GatheredOracleOptions) {
    this.#environment = options.environment;
    this.#request = options.request;
    this.#onClose = options.onClose;
    this.#maxAtOnce = options.maxAtOnce ?? 10_000;
    checkWhole("maxAtOnce", this.#maxAtOnce, 1_000_000);
    this.#maxWaiting = options.maxWaiting ?? 100_000;
    checkWhole("maxWaiting", this.#maxWaiting, 10_000_000);
    this.#retryForMs = options.retryForMs ?? 30_000;
    checkRange("retryForMs", this.#retryForMs, 0, 86_400_000);
  }

  // Not an async function: every transaction calls this, and an additional promise would be most of
  // a timestamp's cost.
  next(options?: { readonly signal?: AbortSignal | undefined }): Promise<number> {
    const signal = options?.signal;
    if (this.#isRefusing || signal !== undefined) {
      const refusal = this.#refusal(signal);
      if (refusal !== undefined) return Promise.reject(refusal);
    }
    const group = this.#group();
    this.#waiting++;
    const timestamp =
      signal === undefined ? new Promise<number>(group.enrol) : this.#enrolAbortable(group, signal);
    if (this.#sent === undefined) this.#send();
    return timestamp;
  }

  get #isRefusing(): boolean {
    return this.#waiting >= this.#maxWaiting || this.#isClosed;
  }

  #refusal(signal: AbortSignal | undefined): PercolatorError | undefined {
    if (this.#isClosed) return closedError();
    if (signal?.aborted) return abortError(signal, "Taking a timestamp");
    if (this.#waiting < this.#maxWaiting) return undefined;
    return new LimitExceededError(
      `${this.#maxWaiting} callers already wait for timestamps, the limit. Run fewer transactions at once, or check why the oracle is slow.`,
    );
  }

  /**
   * The group that a new caller joins: the last one. If that one is full or older than `groupMs`, a
   * new group.
   */
  #group(): CallerGroup {
    const now = this.#environment.monotonic();
    const last = this.#queue.at(-1);
    if (last !== undefined && last.size < this.#maxAtOnce && now - last.askedAt < groupMs) return last;
    const group = new CallerGroup(now);
    this.#queue.push(group);
    return group;
  }

  #enrolAbortable(group: CallerGroup, signal: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const caller = new AbortableCaller((outcome) => {
        stopListening();
        resolve(outcome);
      });
      const stopListening = onAbort(signal, () => {
        caller.isGone = true;
        group.gone++;
        this.#waiting--;
        reject(abortError(signal, "Taking a timestamp"));
        const sent = this.#sent;
        if (sent?.groups.every(({ open }) => open === 0)) sent.abort.abort();
      });
      group.add(caller);
    });
  }

  latest(): number | Promise<number> {
    return this.#greatest > 0 ? this.#greatest : this.next();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = closedError();
    this.#pause?.cancel();
    for (const group of [...(this.#sent?.groups ?? []), ...this.#queue]) this.#refuse(group, error);
    this.#queue = [];
    this.#sent?.abort.abort(error);
    this.#onClose?.();
  }

  /**
   * Sends one request for all waiting callers, unless a request is in flight or the client pauses
   * after a failure.
   */
  #send(): void {
    if (this.#sent !== undefined || this.#pause !== undefined || this.#isGathering) return;
    const groups: CallerGroup[] = [];
    let count = 0;
    for (let group = this.#queue[0]; group !== undefined; group = this.#queue[0]) {
      group.compact();
      if (count > 0 && count + group.size > this.#maxAtOnce) break;
      this.#queue.shift();
      if (group.size > 0) groups.push(group);
      count += group.size;
    }
    if (count > 0) this.#ask(groups, count);
  }

  get requests(): number {
    return this.#requests;
  }

  #ask(groups: readonly CallerGroup[], count: number): void {
    const abort = new AbortController();
    // The answer must be greater than every timestamp that was seen before the request.
    const floor = this.#greatest;
    this.#sent = { groups, abort };
    this.#requests++;
    // The client does not wait for a request that ignores its signal.
    unlessAborted(this.#request(count, abort.signal), abort.signal, "Taking timestamps").then(
      (range) => {
        this.#sent = undefined;
        this.#answer(groups, count, range, floor);
      },
      (error: unknown) => {
        this.#sent = undefined;
        this.#fail(groups, error);
      },
    );
  }

  #answer(groups: readonly CallerGroup[], count: number, range: TimestampRange, floor: number): void {
    const defect = defectOf(range, count, floor);
    if (defect !== undefined) {
      this.#fail(groups, defect);
      return;
    }
    this.#failures = 0;
    this.#greatest = Math.max(this.#greatest, range.first + range.count - 1);
    let { first } = range;
    for (const group of groups) {
      this.#waiting -= group.open;
      first = group.answer(first);
    }
    this.#sendAfterThem();
  }

  /**
   * Sends a request after the current microtasks. Callers that ask again at once therefore share
   * the request.
   */
  #sendAfterThem(): void {
    this.#isGathering = true;
    queueMicrotask(() => {
      this.#isGathering = false;
      this.#send();
    });
  }

  #fail(groups: readonly CallerGroup[], error: unknown): void {
    const now = this.#environment.monotonic();
    const mayRepeat = (group: CallerGroup) => isRetryable(error) && now - group.askedAt < this.#retryForMs;
    const open = this.#isClosed ? [] : groups.filter((group) => group.open > 0);
    for (const group of open) if (!mayRepeat(group)) this.#refuse(group, error);
    const again = open.filter(mayRepeat);
    if (again.length > 0) this.#repeatLater(again);
    this.#send();
  }

  #refuse(group: CallerGroup, error: unknown): void {
    this.#waiting -= group.open;
    group.refuse(error);
  }

  /**
   * Puts the groups of a failed request back, before newer callers, and sends a request after a
   * pause. Callers that join meanwhile share that request, since they ask before it is sent.
   */
  #repeatLater(groups: readonly CallerGroup[]): void {
    this.#queue = [...groups, ...this.#queue];
    this.#failures++;
    const delayMs = backoffDelay(this.#environment, retrying, this.#failures);
    this.#pause = this.#environment.setTimer(() => {
      this.#pause = undefined;
      this.#send();
    }, delayMs);
  }
}

const brokenContract =
  "That breaks the contract of an oracle: check the object that you gave as `oracle`, or whether the coordinator is one.";

/**
 * Why an answer would break the guarantees of timestamps. Undefined if the answer is correct. No
 * caller may get a wrong answer.
 */
function defectOf({ first, count }: TimestampRange, asked: number, floor: number): Error | undefined {
  if (count !== asked) {
    return new InternalError(
      `The oracle was asked for ${asked} timestamps and returned ${count}. ${brokenContract}`,
    );
  }
  const isUsable = Number.isSafeInteger(first) && first >= 1 && first + count - 1 <= lastTimestamp;
  if (!isUsable) return notATimestamp(first);
  if (first > floor) return undefined;
  return new InternalError(
    `The oracle returned ${first} after ${floor}, but timestamps must increase. Stop all processes that write. Then find out ` +
      "whether two oracles serve one database, or a backup of the oracle's row was restored.",
  );
}

function closedError(): ClosedError {
  return new ClosedError("The client of the oracle was closed. Open the database again.");
}

function notATimestamp(value: unknown): InternalError {
  return new InternalError(
    `The oracle returned ${String(value)}, which is not a timestamp. ${brokenContract}`,
  );
}
