import { type Environment, sleep, type Timer } from "../../environment/index.js";
import { InternalError } from "../../errors/index.js";
import type { MaybePromise, RowStore } from "../../store/index.js";
import type { Liveness, TransactionContext } from "../../transaction/index.js";
import type { Cluster } from "../cluster.js";
import { isBeyondBelief } from "../expiry.js";
import { readCrashSuspects, suspect } from "./crash-suspects.js";
import { Heartbeats } from "./heartbeats.js";
import { type HostedObservers, type SessionRecord, SessionRecords, timeToLiveMs } from "./session-records.js";

export interface SessionsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /** The service that knows who lives, where there is one: it is asked first. */
  readonly cluster?: Cluster | undefined;
}

const beatMs = 1_000;
/** How long what was read of other sessions counts as new. */
const cacheMs = 250;
/**
 * Sessions are read so much less often for each that there is: all of them together read so many a
 * second.
 */
const refreshMsForEach = 10;
/** A record that stood still for so long is doubtful: the cluster is asked. */
const stillMs = 1.2 * beatMs;
/**
 * Nobody is cleared away whose record did not stand still for so long, by the clock of who clears
 * it away.
 */
const certainMs = 1.5 * beatMs;
/**
 * One that looks dead, and whose end nobody knows of, may be back: for so long since its last sign
 * of life.
 */
const patienceMs = 3 * timeToLiveMs;
/** How long the cluster is waited for between signs of life, and by a worker that begins. */
const askMs = 500;
const joinMs = 2_000;
/** The most sessions that the cluster is asked about in one go. */
const maxAsked = 256;

/**
 * The processes that work on a store, as they tell each other in its system table. A session is
 * recorded while workers stand in it, shows a sign of life each second, and removes its record when
 * it ends. One that shows none any more ended uncleanly: what it may have been working on is then
 * suspect. Where a cluster's service answers, its word comes first.
 */
export class Sessions implements Liveness {
  readonly session: string;
  readonly cluster: Cluster | undefined;
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly #records: SessionRecords;
  readonly #listeners = new Set<() => void>();
  readonly #heartbeats = new Heartbeats();
  #context: TransactionContext | undefined;
  #hosted: HostedObservers = {};
  #recorded = false;
  /** This session's own record, as it was last read. */
  #own: SessionRecord | undefined;
  #joining: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #timer: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #others: ReadonlyMap<string, SessionRecord> = new Map();
  /** What the cluster said of sessions whose records stood still, when they were last read. */
  #said: ReadonlyMap<string, boolean> = new Map();
  /** Sessions that look dead, and are watched a little longer before they are cleared away. */
  #doubtful = 0;
  #suspects: ReadonlyMap<string, number> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;
  /** When this process was last at work on it, while it hosts observers. */
  #awakeAt = Number.POSITIVE_INFINITY;

  constructor(options: SessionsOptions) {
    this.session = options.environment.uniqueId();
    this.cluster = options.cluster;
    this.#store = options.store;
    this.#environment = options.environment;
    this.#records = new SessionRecords(options.store, (session, error) => {
      const doing = `reading the record of session ${session}`;
      this.#attached.events.emit("backgroundFailure", { doing, error });
    });
  }

  /** The second half of making it: what its messages and timestamps need. */
  attach(context: TransactionContext): void {
    this.#context = context;
  }

  get #attached(): TransactionContext {
    if (this.#context === undefined) throw new InternalError("The sessions have no context yet.");
    return this.#context;
  }

  /**
   * Whether a session lives: by the word of the cluster, or by its record where nobody answers.
   * Undefined for one that neither knows: a lock's own time decides then.
   */
  alive(session: string): MaybePromise<boolean | undefined> {
    if (session === this.session) return true;
    const said = this.cluster?.alive(session);
    if (said instanceof Promise) return said.then((answer) => answer ?? this.#recordedAlive(session));
    return said ?? this.#recordedAlive(session);
  }

  #recordedAlive(session: string): MaybePromise<boolean | undefined> {
    if (this.#environment.monotonic() - this.#readAt < cacheMs) return this.isLive(session);
    return this.refresh().then(() => this.isLive(session));
  }

  /** As {@link alive}, by what was last read. */
  isLive(session: string): boolean | undefined {
    if (session === this.session) return true;
    const record = this.#others.get(session);
    return record === undefined ? undefined : this.#counts(session, record);
  }

  /**
   * The live sessions that run this version of an observer, by what was last read; this one among
   * them if it does.
   */
  hosting(observer: string, version: number): readonly string[] {
    const hosting = [...this.#others]
      .filter(([session, record]) => record.observers[observer] === version && this.#counts(session, record))
      .map(([session]) => session);
    if (this.#hosted[observer] === version) hosting.push(this.session);
    return hosting;
  }

  /** Whether a session lives and runs this version of an observer, by what was last read. */
  isHosting(session: string, observer: string, version: number): boolean {
    if (session === this.session) return this.#hosted[observer] === version;
    const record = this.#others.get(session);
    return record !== undefined && record.observers[observer] === version && this.#counts(session, record);
  }

  /**
   * Whether a session that shows no signs of life runs this version of an observer, and may be
   * back: its machine may be too busy for them, or have stood still. Not one whose process has
   * ended, or that the cluster has seen end.
   */
  mayHost(observer: string, version: number): boolean {
    const now = this.#environment.monotonic();
    return [...this.#others].some(([session, record]) => {
      if (record.observers[observer] !== version || this.#said.get(session) === false) return false;
      if (this.#environment.isRunning(record.process) === false) return false;
      if (this.#heartbeats.hasChanged(session))
        return this.#heartbeats.unchangedMs(session, now) < patienceMs;
      return this.#outlives(record, patienceMs - timeToLiveMs);
    });
  }

  /** How many are recorded, by what was last read, this one among them. */
  get size(): number {
    return this.#others.size + 1;
  }

  /** The processes that run observers and live, this one among them, as they stand in the store. */
  async list(): Promise<ReadonlyMap<string, SessionRecord>> {
    await this.refresh();
    const live = new Map<string, SessionRecord>();
    for (const [session, record] of this.#others)
      if (this.#counts(session, record)) live.set(session, record);
    if (this.#own !== undefined && this.#counts(this.session, this.#own)) live.set(this.session, this.#own);
    return live;
  }

  /**
   * Timestamp up to which hints of an observer are suspect: a process that ran it ended uncleanly.
   * 0 for none.
   */
  suspectUpTo(observer: string): number {
    return this.#suspects.get(observer) ?? 0;
  }

  /**
   * Calls `listener` when it was read again who hosts what, until the returned function is called.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the others which observers this process runs from now on; none ends the record. */
  async host(observers: HostedObservers): Promise<void> {
    this.#hosted = observers;
    if (this.#isHosting) await this.#join();
    await this.#beat();
  }

  get #isHosting(): boolean {
    return Object.keys(this.#hosted).length > 0;
  }

  /**
   * Reports the session to the cluster, once and for as long as the database is open. Nobody waits
   * long for it.
   */
  async #join(): Promise<void> {
    if (this.cluster === undefined) return;
    this.#joining ??= this.cluster.join(this.session, this.#closing.signal).catch((error: unknown) => {
      this.#joining = undefined;
      if (!this.#closing.signal.aborted) this.#report("joining the cluster", error);
    });
    await this.#unlessLong(this.#joining, joinMs);
  }

  /** Resolves with a promise that does not reject, or without its word when it takes too long. */
  #unlessLong<T>(waited: Promise<T>, ms: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = this.#environment.setTimer(() => resolve(undefined), ms);
      void waited.then((answer) => {
        timer.cancel();
        resolve(answer);
      });
    });
  }

  /** Shows a sign of life, looks at the others, and goes on doing so. */
  #beat(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const beating = this.#beating.catch(() => undefined).then(() => this.#beatOnce());
    this.#beating = beating;
    return beating;
  }

  async #beatOnce(): Promise<void> {
    try {
      if (!this.#isHosting) {
        if (this.#recorded) await this.#records.remove(this.session);
        this.#recorded = false;
        this.#awakeAt = Number.POSITIVE_INFINITY;
        return;
      }
      this.#noteAwake();
      const { processName: process } = this.#environment;
      const expires = this.#environment.now() + timeToLiveMs;
      await this.#records.put(this.session, { observers: this.#hosted, expires, process });
      const isFirst = !this.#recorded;
      this.#recorded = true;
      if (isFirst || this.#isTimeToRefresh) await this.refresh();
      else this.#suspects = await readCrashSuspects(this.#store);
    } finally {
      if (this.#isHosting) this.#schedule();
    }
  }

  /**
   * After a pause of this process, or of the whole machine, the others had no chance to be seen.
   */
  #noteAwake(): void {
    const now = this.#environment.monotonic();
    const awayMs = now - this.#awakeAt;
    if (awayMs >= timeToLiveMs / 2) this.#heartbeats.passOver(awayMs - beatMs, now);
    this.#awakeAt = now;
  }

  /** Very many sessions are not read by each of them every second. */
  get #isTimeToRefresh(): boolean {
    const everyMs = this.#doubtful > 0 ? beatMs : Math.max(beatMs, this.#others.size * refreshMsForEach);
    // A timer may be a little early.
    return this.#environment.monotonic() - this.#readAt >= everyMs - beatMs / 2;
  }

  #schedule(): void {
    this.#timer?.cancel();
    const run = () => {
      this.#beat().catch((error: unknown) => this.#report("a session's sign of life", error));
    };
    this.#timer = this.#environment.setTimer(run, beatMs, { background: true });
  }

  #report(doing: string, error: unknown): void {
    this.#attached.events.emit("backgroundFailure", { doing, error });
  }

  /**
   * Reads who lives. Sessions that ended uncleanly are cleared away, and what they worked on
   * becomes suspect.
   */
  async refresh(): Promise<void> {
    if (this.#recorded) this.#noteAwake();
    const readAt = this.#environment.monotonic();
    const others = new Map<string, SessionRecord>();
    let own: SessionRecord | undefined;
    for await (const [session, record] of this.#records.all()) {
      if (session === this.session) {
        own = record;
        continue;
      }
      others.set(session, record);
      this.#heartbeats.see(session, record.expires, readAt);
    }
    this.#heartbeats.keep(others);
    const said = await this.#askCluster(others, readAt);
    this.#own = own;
    this.#others = others;
    this.#said = said;
    this.#readAt = Math.max(this.#readAt, readAt);
    await this.#clearDead(readAt);
    for (const listener of this.#listeners) listener();
  }

  /** What the cluster says of sessions whose records stand still. */
  async #askCluster(
    records: ReadonlyMap<string, SessionRecord>,
    now: number,
  ): Promise<ReadonlyMap<string, boolean>> {
    const said = new Map<string, boolean>();
    const { cluster } = this;
    if (cluster === undefined) return said;
    const doubtful = [...records]
      .filter(([session, record]) => this.#isStill(session, record, now))
      .sort(([, a], [, b]) => a.expires - b.expires)
      .slice(0, maxAsked);
    const asking = doubtful.map(async ([session]) => {
      const answer = await cluster.alive(session);
      if (answer !== undefined) said.set(session, answer);
    });
    if (asking.length > 0) await this.#unlessLong(Promise.allSettled(asking), askMs);
    return new Map(said);
  }

  #isStill(session: string, record: SessionRecord, now: number): boolean {
    // If its process is not on this machine, although it says so, only the cluster knows better.
    if (this.#environment.isRunning(record.process) === false) return true;
    const isFirst = this.#heartbeats.unchangedMs(session, now) === 0 && !this.#heartbeats.hasChanged(session);
    return isFirst || this.#heartbeats.unchangedMs(session, now) >= stillMs || !this.#counts(session, record);
  }

  async #clearDead(now: number): Promise<void> {
    let doubtful = 0;
    for (const [session, record] of this.#others) {
      if (this.#counts(session, record)) continue;
      const isCertain =
        this.#environment.isRunning(record.process) === false ||
        this.#heartbeats.unchangedMs(session, now) >= certainMs;
      if (!isCertain) doubtful++;
      else if (this.#isHosting) await this.#clearAway(session, record);
    }
    this.#doubtful = doubtful;
    if (this.#isHosting) this.#suspects = await readCrashSuspects(this.#store);
  }

  /**
   * An end has one timestamp, whoever clears it away: an end after it, without a commit between
   * them, counts too.
   */
  async #clearAway(session: string, { observers }: SessionRecord): Promise<void> {
    const upTo = await this.#records.end(session, await this.#attached.oracle.next());
    if (upTo === undefined) return;
    await suspect(this.#store, Object.keys(observers), upTo);
    await this.#records.remove(session);
    await this.#store.clearDead?.();
  }

  /**
   * Whether a session counts as alive: by the word of the cluster, which hears from it; or else by
   * whether its process is known to run; or by signs of life seen here. Its own clock is believed
   * only until a second sign could be seen.
   */
  #counts(session: string, record: SessionRecord): boolean {
    const said = this.#said.get(session);
    if (said !== undefined) return said;
    if (this.#environment.isRunning(record.process) === false) return false;
    const isFresh = this.#heartbeats.unchangedMs(session, this.#readAt) < timeToLiveMs;
    return isFresh && (this.#heartbeats.hasChanged(session) || this.#outlives(record, 0));
  }

  /**
   * Whether a record says that it counts now, or did `graceMs` ago. One that says it will in a year
   * says nothing.
   */
  #outlives({ expires }: SessionRecord, graceMs: number): boolean {
    const now = this.#environment.now();
    return expires + graceMs > now && !isBeyondBelief(expires, timeToLiveMs, now);
  }

  /**
   * Resolves when it is certain of every session that was found dead whether it is: what it worked
   * on must be suspect before this process works on it. Takes little more than a second, where
   * there is one at all.
   */
  async settleDoubts(signal: AbortSignal): Promise<void> {
    if (this.#doubtful === 0) return;
    await sleep(this.#environment, certainMs, signal);
    await this.refresh();
  }

  /** Ends the session, by the word of the cluster too. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    if (this.#joining !== undefined) await this.cluster?.leave();
  }
}
