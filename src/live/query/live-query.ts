import { isDeepStrictEqual } from "node:util";
import { backoffDelay, onAbort, sleep, throwIfAborted, unlessAborted } from "../../environment/index.js";
import { PercolatorError, TimeoutError } from "../../errors/index.js";
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

/**
 * A live query. It is *due* if something that it read has changed since its last run, and it runs
 * only while its consumer waits for a value:
 *
 * - due: the next run may begin, at the hub's position. A new query is due.
 * - followed: its reads are in the hub's index. A change of them makes it due.
 * - unfollowed: it has read a table that the hub did not follow yet. It runs again once the hub does,
 *   and meanwhile at a fixed pace.
 */
export class LiveQuery<T> implements HubQuery {
  at = -1;
  tables: ReadonlySet<FollowedTable> = new Set();
  readonly #hub: LiveHub;
  readonly #read: LiveRead<T>;
  readonly #settings: LiveSettings;
  readonly #signal: AbortSignal;
  /**
   * Aborted when the caller's signal is, or when a run takes too long, which ends the query. One for
   * all runs: the signals of each run would cost more than the run.
   */
  readonly #ending = new AbortController();
  readonly #stopListening: readonly (() => void)[];
  #isDue = true;
  /** Whether the next run needs a timestamp from the oracle, because the hub's may be too old. */
  #needsTimestamp = true;
  #unfollowed: readonly FollowedTable[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  #last: LiveValue<T> | undefined;
  #ranAt = Number.NEGATIVE_INFINITY;

  constructor(hub: LiveHub, read: LiveRead<T>, settings: LiveSettings, signal: AbortSignal) {
    this.#hub = hub;
    this.#read = read;
    this.#settings = settings;
    this.#signal = signal;
    const follow = () => this.#ending.abort(signal.reason);
    if (signal.aborted) follow();
    this.#stopListening = [onAbort(signal, follow), onAbort(this.#ending.signal, () => this.#wake?.())];
    hub.open(this);
  }

  makeDue(): void {
    this.#isDue = true;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#wake?.();
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
    this.#hub.leave(this);
  }

  /** Waits for the next value that differs from the last one. */
  async next(): Promise<LiveValue<T>> {
    const { signal } = this.#ending;
    for (;;) {
      await this.#untilDue(signal);
      await this.#untilAllowed(signal);
      const found = await this.#measure(signal);
      if (found !== undefined) return found;
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
      if (!this.#signal.aborted) events.emit("liveRun", { outcome, durationMs });
    }
  }

  #isNew({ value, timestamp }: LiveValue<T>): boolean {
    const last = this.#last;
    if (last === undefined) return true;
    return timestamp > last.timestamp && !isDeepStrictEqual(value, last.value);
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isDue) return;
      if (this.#unfollowed.length > 0) {
        await this.#untilFollowed(signal);
        this.#isDue = true;
        this.#needsTimestamp = true;
      } else await this.#untilWoken(signal);
    }
  }

  async #untilWoken(signal: AbortSignal): Promise<void> {
    throwIfAborted(signal, waitingForChange);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    throwIfAborted(signal, waitingForChange);
  }

  /** Waits until all tables may be followed completely, but not for long. */
  async #untilFollowed(signal: AbortSignal): Promise<void> {
    const { context } = this.#hub;
    // Until the feeds are recorded, a run would only take time from that.
    const recorded = Promise.allSettled(this.#unfollowed.map(({ ready }) => ready));
    await unlessAborted(recorded, signal, waitingForChange);
    const until = Math.max(...this.#unfollowed.map((table) => (table.isEnded ? 0 : table.completeFrom)));
    if (until <= (await currentTimestamp(context))) return;
    await sleep(context.environment, unfollowedMs, signal, waitingForChange);
  }

  /** Waits until the least time since the beginning of the last run has passed. */
  async #untilAllowed(signal: AbortSignal): Promise<void> {
    const { environment } = this.#hub.context;
    const waitMs = this.#ranAt + this.#settings.throttleMs - environment.monotonic();
    if (waitMs > 0) await sleep(environment, waitMs, signal, "Waiting for the next run of a live query");
  }

  /** Runs the function. After an outage of the store, runs it again until its time is over. */
  async #run(signal: AbortSignal): Promise<LiveValue<T>> {
    const { environment } = this.#hub.context;
    const { timeoutMs } = this.#settings;
    const release = await this.#hub.slots.take(signal);
    const timer = environment.setTimer(() => this.#ending.abort(overdue(doing, timeoutMs)), timeoutMs);
    let failure: unknown;
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#attempt(signal);
        } catch (error) {
          if (signal.aborted || !(error instanceof PercolatorError && error.retryable)) throw error;
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
      if (registration.type === "changed") this.#isDue = true;
      return { value, timestamp };
    } finally {
      mark.end();
      await snapshot.close();
    }
  }

  /** A function that throws at once, and one that rejects, fail alike. */
  async #call(snapshot: LiveSnapshot): Promise<T> {
    return await this.#read(snapshot);
  }
}
