import { type Timer, underSignals, unlessAborted } from "../../environment/index.js";
import { InvalidArgumentError, PercolatorError, TimeoutError } from "../../errors/index.js";
import {
  type FeedRecord,
  isObserver,
  type Observer,
  type Registry,
  registeredObserver,
} from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { describeValue } from "../../schema/index.js";
import { checkTimeout } from "../../transaction/index.js";
import type { FeedSource } from "../feed/changes.js";
import { readMark } from "../feed/feed-marks.js";
import { leasedFeedName } from "../feed/leases.js";
import { dueOfOlder, type SettledCommit } from "./due-then.js";
import { EntryTail } from "./entry-tail.js";
import { type CountsObserver, Waiter, type WaiterStart } from "./waiter.js";

/** The options of `db.settled`. Each has a default. */
export interface SettledOptions {
  /**
   * The observers whose runs count, or their names. Changes of other observers are not waited for,
   * and what those cause is not followed. So name each observer on the way. Default: all.
   */
  readonly observers?: readonly (Observer | string)[] | undefined;
  /**
   * The observers whose runs do not count, or their names. All others are followed, so none on the
   * way has to be named. Default: none.
   */
  readonly except?: readonly (Observer | string)[] | undefined;
  /** How long to wait, in milliseconds. The TimeoutError names what is due. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait when it is aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

const observed = { observed: true } as const;
const feedName = leasedFeedName(observed);
/**
 * The feed is kept for so long after the last call, in milliseconds. Its entries cost the
 * transactions something, but the first call without it costs more.
 */
const keepMs = 600_000;
const waiting = "Waiting for derived writes";

/** Waits for what commits cause: see `Database.settled`. */
export class Settling {
  readonly #source: FeedSource;
  #holding: Promise<() => void> | undefined;
  #releaseTimer: Timer | undefined;
  #tail: EntryTail | undefined;

  constructor(source: FeedSource) {
    this.#source = source;
  }

  get #registry(): Registry {
    return this.#source.registry;
  }

  async settled(
    commitTimestamp: number | undefined,
    options: SettledOptions,
    closing: AbortSignal,
  ): Promise<void> {
    const { timeoutMs, signal } = options;
    checkTimeout(timeoutMs);
    const counts = await this.#counting(options);
    if (commitTimestamp === undefined) return;
    await this.#checkTimestamp(commitTimestamp);
    const late = new AbortController();
    const { environment } = this.#registry.context;
    let waiter: Waiter | undefined;
    const timer =
      timeoutMs === undefined
        ? undefined
        : environment.setTimer(() => late.abort(tooLate(commitTimestamp, timeoutMs, waiter)), timeoutMs);
    try {
      await underSignals([signal, late.signal, closing], async (either) => {
        const asked = { commitTimestamp, counts, signal: either };
        await this.#wait(asked, either, (current) => {
          waiter = current;
        });
      });
    } finally {
      timer?.cancel();
    }
  }

  /** Stops keeping the feed. */
  close(): void {
    this.#releaseTimer?.cancel();
  }

  async #counting({ observers, except = [] }: SettledOptions): Promise<CountsObserver> {
    if (observers === undefined && except.length === 0) return () => true;
    const view = await this.#registry.fresh();
    const namesOf = (given: readonly (Observer | string)[]) =>
      new Set(given.map((each) => registeredObserver(view, isObserver(each) ? each.name : each).name));
    const named = observers === undefined ? undefined : namesOf(observers);
    const left = namesOf(except);
    return (name) => (named?.has(name) ?? true) && !left.has(name);
  }

  async #checkTimestamp(commitTimestamp: number): Promise<void> {
    const now = await currentTimestamp(this.#registry.context);
    if (Number.isSafeInteger(commitTimestamp) && commitTimestamp >= 0 && commitTimestamp <= now) return;
    throw new InvalidArgumentError(
      `\`db.settled\` takes the commit timestamp of a transaction that has committed (now: ${now}), not ${describeValue(commitTimestamp)}.`,
    );
  }

  async #wait(asked: SettledCommit, signal: AbortSignal, tell: (waiter: Waiter) => void): Promise<void> {
    for (;;) {
      const record = await unlessAborted(this.#record(), signal, waiting);
      const start = await this.#startOf(asked, record, signal);
      const waiter = new Waiter(this.#registry, asked.counts, start);
      tell(waiter);
      if (this.#tail?.reads(record) !== true) {
        this.#tail = new EntryTail(this.#registry, this.#source.clock, record, start.position);
      }
      try {
        return await this.#tail.wait(waiter, signal);
      } catch (error) {
        // The feed was lost, so it says no more what the commit has caused.
        const isStale = error instanceof PercolatorError && error.code === "STALE_SNAPSHOT";
        if (!isStale || signal.aborted) throw error;
      }
    }
  }

  /** Where to begin: at the commit if the feed has it, or else with what is due now. */
  async #startOf(asked: SettledCommit, record: FeedRecord, signal: AbortSignal): Promise<WaiterStart> {
    const { context } = this.#registry;
    const { commitTimestamp } = asked;
    const complete = this.#registry.feedCompleteFrom(record.since);
    if (commitTimestamp > complete && commitTimestamp > (await readMark(context.store, feedName, "floor"))) {
      return { position: commitTimestamp - 1, root: commitTimestamp };
    }
    let position = await currentTimestamp(context);
    if (position < complete) position = await this.#source.clock.after(complete - 1, signal);
    return await dueOfOlder(this.#registry, asked, position);
  }

  /** The record of the feed of all observed columns, which is kept for a while from now on. */
  async #record(): Promise<FeedRecord> {
    this.#releaseLater();
    for (;;) {
      this.#holding ??= this.#source.leases.hold(observed);
      const holding = this.#holding;
      const forget = () => {
        if (this.#holding === holding) this.#holding = undefined;
      };
      const release = await holding.catch((error: unknown) => {
        forget();
        throw error;
      });
      const known = (await this.#registry.fresh()).feedRecords.get(feedName);
      if (known !== undefined) return known.record;
      // The lease had ended, for example because this process was paused.
      forget();
      release();
    }
  }

  #releaseLater(): void {
    this.#releaseTimer?.cancel();
    const release = () => {
      const holding = this.#holding;
      this.#holding = undefined;
      holding?.then((end) => end()).catch(() => undefined);
    };
    this.#releaseTimer = this.#registry.context.environment.setTimer(release, keepMs, { background: true });
  }
}

function tooLate(commitTimestamp: number, timeoutMs: number, waiter: Waiter | undefined): TimeoutError {
  const due = waiter?.showDue() ?? "";
  const what = due === "" ? "It is not known yet what is due" : `Due: ${due}`;
  return new TimeoutError(
    `What the commit at ${commitTimestamp} has caused was not handled within ${timeoutMs} ms. ${what}. Check that a worker runs ` +
      "these observers, or give a longer `timeoutMs`.",
  );
}
