import { isDeepStrictEqual } from "node:util";
import { backoffDelay, onAbort, sleep, throwIfAborted, unlessAborted } from "../../environment/index.js";
import { InvalidArgumentError, isRetryable, TimeoutError } from "../../errors/index.js";
import type { EventMap } from "../../events/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { overdue, type Snapshot } from "../../transaction/index.js";
import type { FollowedTable } from "./followed-table.js";
import type { HubQuery, LiveHub } from "./hub.js";
import { LiveSnapshot } from "./live-snapshot.js";
import { QueryReads } from "./query-reads.js";

/** A result of a live query. */
export interface LiveValue<T> {
  readonly value: T;
  /** The value is what the function returns for a snapshot at this timestamp. */
  readonly timestamp: number;
}

/** The function of a live query. */
export type LiveRead<T> = (snapshot: Snapshot) => T | Promise<T>;

export interface LiveSettings {
  /** Least time between two runs, in milliseconds. */
  readonly throttleMs: number;
  /** The longest that one run may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** How often a query runs again while its tables are not followed completely, in milliseconds. */
const unfollowedMs = 250;
const doing = "The function of `db.live`";
const waitingForChange = "Waiting for a change of a live query";
const retrying = { initialMs: 10, maximumMs: 1_000 };

type LiveResult<T> = IteratorResult<LiveValue<T>, void>;

/** A call of `next` that waits for its value. */
interface AskedValue<T> {
  readonly resolve: (answer: LiveResult<T>) => void;
  readonly reject: (error: unknown) => void;
}

const ended = { done: true, value: undefined } as const;

/**
 * A live query: the iterator that `Database.live` returns. It is open from the first `next` until it
 * fails, or its caller ends it. It is *due* if something that it read has changed since its last run,
 * and it runs only while its consumer waits for a value:
 *
 * - due: the next run may begin, at the hub's position. A new query is due.
 * - followed: its reads are in the hub's index. A change of them makes it due.
 * - unfollowed: it has read a table that the hub did not follow yet. It runs again once the hub does,
 *   and meanwhile at a fixed pace.
 *
 * There may be thousands of them, so one is a single object: async generators and signals of their
 * own would take most of its memory. Unlike a generator, it returns at once while a `next` waits.
 */
export class LiveQuery<T> implements HubQuery, AsyncGenerator<LiveValue<T>, void, undefined> {
  at = -1;
  tables: ReadonlySet<FollowedTable> = new Set();
  readonly #hub: LiveHub;
  readonly #read: LiveRead<T>;
  readonly #settings: LiveSettings;
  readonly #signals: readonly (AbortSignal | undefined)[];
  /**
   * Aborted when a caller ends the query, or when a run takes too long, which ends it too. One for
   * all runs: the signals of each run would cost more than the run.
   */
  readonly #ending = new AbortController();
  #stopListening: readonly (() => void)[] | undefined;
  /** The calls of `next` that wait, in their order. */
  readonly #asked: AskedValue<T>[] = [];
  /** Resolves when no call waits any more. */
  #answering: Promise<void> | undefined;
  #hasEnded = false;
  /** Whether one of the signals, or `return`, has ended it. */
  #isCancelled = false;
  #hasReturned = false;
  #isDue = true;
  /** Whether the next run needs a timestamp from the oracle, because the hub's may be too old. */
  #needsTimestamp = true;
  /** Least time between the last run and the next one, in milliseconds, besides `throttleMs`. */
  #pauseMs = 0;
  #unfollowed: readonly FollowedTable[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  #last: LiveValue<T> | undefined;
  #ranAt = Number.NEGATIVE_INFINITY;

  /** The query ends when one of the signals is aborted. */
  constructor(
    hub: LiveHub,
    read: LiveRead<T>,
    settings: LiveSettings,
    signals: readonly (AbortSignal | undefined)[],
  ) {
    this.#hub = hub;
    this.#read = read;
    this.#settings = settings;
    this.#signals = signals;
  }

  next(): Promise<LiveResult<T>> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      if (this.#asked.length === 1) this.#answering = this.#answer();
    });
  }

  async return(): Promise<LiveResult<T>> {
    this.#hasReturned = true;
    this.#cancel(undefined);
    await this.#answering;
    this.#end();
    return ended;
  }

  async throw(error: unknown): Promise<LiveResult<T>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  makeDue(): void {
    this.#isDue = true;
    this.#wakeUp();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#wakeUp();
  }

  /** Answers the calls of `next`, each with a value of its own. */
  async #answer(): Promise<void> {
    for (let asked = this.#asked[0]; asked !== undefined; asked = this.#asked[0]) {
      try {
        asked.resolve(this.#hasEnded ? ended : { done: false, value: await this.#nextValue() });
      } catch (error) {
        this.#end();
        if (this.#hasReturned) asked.resolve(ended);
        else asked.reject(error);
      }
      this.#asked.shift();
    }
    // The signal may have been aborted after the value was found.
    if (this.#isCancelled) this.#release();
  }

  #open(): void {
    if (this.#stopListening !== undefined) return;
    const signals = this.#signals;
    const cancel = () => this.#cancel(signals.find((signal) => signal?.aborted)?.reason);
    if (signals.some((signal) => signal?.aborted)) cancel();
    this.#stopListening = signals.map((signal) => onAbort(signal, cancel));
    this.#hub.open(this);
  }

  #cancel(reason: unknown): void {
    this.#isCancelled = true;
    this.#abort(reason);
    // A program that has aborted the signal may never ask again.
    if (this.#asked.length === 0) this.#release();
  }

  #abort(reason: unknown): void {
    this.#ending.abort(reason);
    this.#wakeUp();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#release();
  }

  /** The hub follows nothing for it any more. */
  #release(): void {
    for (const stop of this.#stopListening ?? []) stop();
    this.#hub.leave(this);
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Waits for the next value that differs from the last one. */
  async #nextValue(): Promise<LiveValue<T>> {
    this.#open();
    const { signal } = this.#ending;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      throwIfAborted(signal, waitingForChange);
      if (this.#isDue) {
        await this.#untilAllowed(signal);
        const found = await this.#measure(signal);
        if (found !== undefined) return found;
      } else if (this.#unfollowed.length > 0) {
        await this.#untilFollowed(signal);
        this.#isDue = true;
        this.#needsTimestamp = true;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** Runs the function. Resolves to undefined if its value is not new. */
  async #measure(signal: AbortSignal): Promise<LiveValue<T> | undefined> {
    const { events, environment } = this.#hub.context;
    const startedAt = environment.monotonic();
    let outcome: EventMap["liveRun"]["outcome"] = "failed";
    try {
      const found = await this.#run(signal);
      if (this.#isNew(found)) {
        outcome = "delivered";
        this.#last = found;
        return found;
      }
      outcome = "unchanged";
      return undefined;
    } finally {
      this.#ranAt = startedAt;
      const durationMs = environment.monotonic() - startedAt;
      if (!this.#isCancelled) events.emit("liveRun", { outcome, durationMs });
    }
  }

  #isNew({ value, timestamp }: LiveValue<T>): boolean {
    const last = this.#last;
    if (last === undefined) return true;
    return timestamp > last.timestamp && !isDeepStrictEqual(value, last.value);
  }

  /** Waits until all tables may be followed completely, but not for long. */
  async #untilFollowed(signal: AbortSignal): Promise<void> {
    const { context } = this.#hub;
    // Until the feeds are recorded, a run would only take time from that.
    const recorded = Promise.allSettled(this.#unfollowed.map(({ ready }) => ready));
    await unlessAborted(recorded, signal, waitingForChange);
    const until = Math.max(...this.#unfollowed.map((table) => (table.isEnded ? 0 : table.completeFrom)));
    try {
      if (until <= (await currentTimestamp(context))) return;
    } catch (error) {
      // The next run waits for the end of an outage.
      if (!isRetryable(error)) throw error;
    }
    await sleep(context.environment, unfollowedMs, signal, waitingForChange);
  }

  /** Waits until the least time since the beginning of the last run has passed. */
  async #untilAllowed(signal: AbortSignal): Promise<void> {
    const { environment } = this.#hub.context;
    const leastMs = Math.max(this.#settings.throttleMs, this.#pauseMs);
    const waitMs = this.#ranAt + leastMs - environment.monotonic();
    if (waitMs > 0) await sleep(environment, waitMs, signal, "Waiting for the next run of a live query");
  }

  /** Runs the function. After an outage of the store, runs it again until its time is over. */
  async #run(signal: AbortSignal): Promise<LiveValue<T>> {
    const { environment } = this.#hub.context;
    const { timeoutMs } = this.#settings;
    const release = await this.#hub.slots.take(signal);
    const timer = environment.setTimer(() => this.#abort(overdue(doing, timeoutMs)), timeoutMs);
    let failure: unknown;
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#attempt(signal);
        } catch (error) {
          if (signal.aborted || !isRetryable(error)) throw error;
          failure = error;
        }
        this.#needsTimestamp = true;
        await sleep(environment, backoffDelay(environment, retrying, attempt), signal, doing);
      }
    } catch (error) {
      if (failure === undefined || !(error instanceof TimeoutError)) throw error;
      const last = failure instanceof Error ? failure.message : String(failure);
      throw new TimeoutError(`${doing} failed for ${timeoutMs} ms. The last failure: ${last}`, {
        cause: failure,
      });
    } finally {
      timer.cancel();
      release();
    }
  }

  async #attempt(signal: AbortSignal): Promise<LiveValue<T>> {
    const hub = this.#hub;
    const latest = this.#needsTimestamp ? await currentTimestamp(hub.context) : 0;
    const timestamp = Math.max(latest, hub.position);
    const mark = hub.beginRun();
    const reads = new QueryReads();
    const snapshot = new LiveSnapshot(hub.context, timestamp, reads, { signal });
    try {
      this.#isDue = false;
      const value = await unlessAborted(this.#call(snapshot), signal, doing);
      reads.assertBounded();
      this.at = timestamp;
      this.#needsTimestamp = false;
      const { tables, registration } = hub.register(this, { timestamp, mark, reads });
      this.tables = tables;
      this.#unfollowed = registration.type === "unfollowed" ? registration.tables : [];
      // While looks fail, the log may stay too long for all runs.
      this.#pauseMs = registration.type === "unknown" ? unfollowedMs : 0;
      if (registration.type === "changed" || registration.type === "unknown") {
        this.#isDue = true;
        // The change may be newer than the hub's position, at which a further run would not see it.
        this.#needsTimestamp = true;
      }
      return { value, timestamp };
    } finally {
      mark.end();
      await snapshot.close();
    }
  }

  /** A function that throws at once, and one that rejects, fail alike. */
  async #call(snapshot: LiveSnapshot): Promise<T> {
    const value = await this.#read(snapshot);
    if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
    throw new InvalidArgumentError(
      `${doing} returned a scan that it has not read. Read its rows with \`for await\` within the function, and return them.`,
    );
  }
}
