import {
  abortError,
  backoffDelay,
  type Environment,
  onAbort,
  type Timer,
  unlessAborted,
} from "../environment/index.js";
import { ClosedError, InternalError, LimitExceededError, PercolatorError } from "../errors/index.js";
import { AbortableCaller, CallerGroup } from "./caller-group.js";
import { checkRange, checkWhole } from "./leader-options.js";
import type { Oracle } from "./oracle.js";
import { lastTimestamp, type TimestampRange } from "./range.js";

/** What the client of an oracle does about gathering and repeating. */
export interface GatheringOptions {
  readonly environment: Environment;
  /** The most callers that one request serves. Default: 10,000. */
  readonly maxAtOnce?: number | undefined;
  /** The most callers that wait. Default: 100,000. */
  readonly maxWaiting?: number | undefined;
  /**
   * How long after a caller asked its question is still repeated after failures that are
   * `retryable`, in milliseconds; then it gets the last failure. Longer than a change of leaders
   * takes. Default: 30,000.
   */
  readonly retryForMs?: number | undefined;
}

export interface GatheredOracleOptions extends GatheringOptions {
  /**
   * Asks the oracle for exactly `count` timestamps. It bounds its own time: it must settle, for
   * instance with the help of {@link within}. The client repeats it after errors of this package
   * with `retryable` true, such as a `NotLeaderError`.
   */
  readonly request: (count: number, signal: AbortSignal) => Promise<TimestampRange>;
  /** Called once, when the client is closed. */
  readonly onClose?: (() => void) | undefined;
}

/** An {@link Oracle} that asks another. */
export interface GatheredOracle extends Oracle {
  /**
   * The greatest timestamp that this client has seen: one that was given already, but not always
   * the latest that was given to anybody. A client that has seen none takes one.
   */
  latest(): number | Promise<number>;
  /** Refuses all who wait, and all later, with a `ClosedError`. Harmless to repeat. */
  close(): void;
}

/** Callers who asked within so many milliseconds are gathered in one group. */
const groupMs = 5;
const retrying = { initialMs: 10, maximumMs: 1_000 };

/**
 * The client's half of an oracle (section 2.3 of the paper): gathers the questions of many callers
 * into one request, so that a process has one under way at a time, however many transactions it
 * runs. An answer serves only those who had asked before its request was sent; timestamps are never
 * kept for later callers, since others may have had greater ones by then. Each caller gets a
 * timestamp of its own, in the order in which they asked.
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
  /** Those who are not served yet, in their order; the last one takes new callers. */
  #queue: CallerGroup[] = [];
  /** Whom the request under way serves, and what ends it when they have all gone. */
  #sent: { readonly groups: readonly CallerGroup[]; readonly abort: AbortController } | undefined;
  /** Callers who wait, in all groups. */
  #waiting = 0;
  /** Callers were answered in this turn, and are likely to ask anew in it. */
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

  // No async function: this is called for every transaction, and a promise of its own is most of
  // what a timestamp costs.
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
      `${this.#maxWaiting} callers wait for timestamps already. Run fewer transactions at once, or see why the oracle is slow.`,
    );
  }

  /** The group that takes a caller of this moment. */
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

  /** Sends one request for all who wait, unless one is under way, or a pause is. */
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
    // What is learned while the request is under way may be greater than its answer.
    const floor = this.#greatest;
    this.#sent = { groups, abort };
    this.#requests++;
    // A request that takes no notice of its signal is not waited for.
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

  /** Callers who ask again as soon as they are answered share the next request with each other. */
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
   * Those who waited longest stay first. Who joins them meanwhile has asked before the next request
   * is sent, too.
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
