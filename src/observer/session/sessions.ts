import {
  type Environment,
  OneAtATime,
  type ProcessMeter,
  packageManifest,
  sleep,
  type Timer,
} from "../../environment/index.js";
import { InternalError } from "../../errors/index.js";
import { isRemote, type MaybePromise, type RowStore } from "../../store/index.js";
import type { Liveness, TransactionContext } from "../../transaction/index.js";
import type { Cluster } from "../cluster.js";
import { isBeyondBelief } from "../expiry.js";
import { readCrashSuspects } from "./crash-suspects.js";
import { Heartbeats } from "./heartbeats.js";
import {
  endSession,
  type HostedObservers,
  type SessionRecord,
  SessionRecords,
  timeToLiveMs,
} from "./session-records.js";
import { type SilentSession, SilentSessions } from "./silent-sessions.js";

export interface SessionsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /**
   * The cluster's service, if there is one. It knows which sessions are alive, so it is asked
   * first.
   */
  readonly cluster?: Cluster | undefined;
}

const beatMs = 1_000;
/** How long the records that were read from other sessions count as fresh, in milliseconds. */
const cacheMs = 250;
/**
 * Between two reads of the sessions' records, a process waits at least this long for each other
 * session, in milliseconds. All processes together therefore read the records about 100 times a
 * second at most. If a session looks dead, each process reads the records every second.
 */
const refreshMsForEach = 10;
/**
 * On a store of this machine, each scan reads the records again if this time has passed, in
 * milliseconds. So a process that has just begun gets its share at the next scan, and not after a
 * heartbeat.
 */
const noticeMs = 50;
/**
 * If a record did not change for this long, in milliseconds, its session is doubtful, and this
 * process asks the cluster about it.
 */
const stillMs = 1.2 * beatMs;
/**
 * A session is removed only if its record did not change for this long, by the clock of the process
 * that removes it, in milliseconds.
 */
const certainMs = 1.5 * beatMs;
/**
 * How long a session without heartbeats may still come back, in milliseconds from its last
 * heartbeat. It applies if no process knows that the session has ended.
 */
const patienceMs = 3 * timeToLiveMs;
/**
 * How long to wait for the cluster's answer, in milliseconds: `askMs` between heartbeats, `joinMs`
 * when a worker begins.
 */
const askMs = 500;
const joinMs = 2_000;
/** The most sessions in one question to the cluster. */
const maxAsked = 256;
/** A session that is alive. */
export interface LiveSession extends SessionRecord {
  /**
   * By how much the clock of its process is ahead of this process's, in milliseconds, too small by
   * up to a second. Undefined until a few of its heartbeats were read.
   */
  readonly clockOffsetMs?: number | undefined;
}

/**
 * The processes that work on a store, as their records in the system table show them. A session has
 * a record while workers run in it. It sends a heartbeat each second, and removes the record at its
 * end.
 *
 * A session whose heartbeats stop ended uncleanly, and the hints that it may have been running
 * become suspect. If the cluster's service answers, its answer takes precedence over the records.
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
  /** What this program declares: `orders`, and `orders.total` for each column. */
  declared: readonly string[] = [];
  /** This session's own record, as last read. */
  #own: SessionRecord | undefined;
  #joining: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #timer: Timer | undefined;
  readonly #beats = new OneAtATime();
  #others: ReadonlyMap<string, SessionRecord> = new Map();
  /** The cluster's last answers about sessions whose records did not change. */
  #said: ReadonlyMap<string, boolean> = new Map();
  /**
   * Number of sessions that look dead. They are watched a little longer before they are removed.
   */
  #doubtful = 0;
  #suspects: ReadonlyMap<string, number> = new Map();
  readonly #silent: SilentSessions;
  #meter: ProcessMeter | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  /**
   * When this process last sent a heartbeat or read the sessions, while it hosts observers.
   * Monotonic time. A long gap shows that the process was paused.
   */
  #awakeAt = Number.POSITIVE_INFINITY;

  constructor(options: SessionsOptions) {
    this.session = options.environment.uniqueId();
    this.cluster = options.cluster;
    this.#store = options.store;
    this.#environment = options.environment;
    this.#silent = new SilentSessions(options.environment, this.#heartbeats);
    this.#records = new SessionRecords(options.store, (session, error) => {
      const doing = `reading the record of session ${session}`;
      this.#attached.events.emit("backgroundFailure", { doing, error });
    });
  }

  /**
   * Sets the context for messages and timestamps. This is a separate step after the constructor.
   */
  attach(context: TransactionContext): void {
    this.#context = context;
  }

  get #attached(): TransactionContext {
    if (this.#context === undefined) throw new InternalError("The sessions have no context yet.");
    return this.#context;
  }

  /**
   * Whether a session is alive. The cluster's answer decides, or the session's record if the
   * cluster does not answer. Undefined if neither knows the session. For a lock of that session,
   * the lock's own expiry then decides.
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

  /** Like {@link alive}, from the records that were last read. */
  isLive(session: string): boolean | undefined {
    if (session === this.session) return true;
    const record = this.#others.get(session);
    return record === undefined ? undefined : this.#counts(session, record);
  }

  /**
   * The live sessions that run this version of an observer, from the records that were last read.
   * Includes this session if it runs that version.
   */
  hosting(observer: string, version: number): readonly string[] {
    const hosting = [...this.#others]
      .filter(([session, record]) => record.observers[observer] === version && this.#counts(session, record))
      .map(([session]) => session);
    if (this.#hosted[observer] === version) hosting.push(this.session);
    return hosting;
  }

  /**
   * Whether a session is alive and runs this version of an observer, from the records that were
   * last read.
   */
  isHosting(session: string, observer: string, version: number): boolean {
    if (session === this.session) return this.#hosted[observer] === version;
    const record = this.#others.get(session);
    return record !== undefined && record.observers[observer] === version && this.#counts(session, record);
  }

  /**
   * Whether a session without heartbeats runs this version of an observer and may come back. Its
   * machine may be overloaded or paused. False if its process has ended, or if the cluster saw it
   * end.
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

  /** How many sessions have a record, as last read, including this one. */
  get size(): number {
    return this.#others.size + 1;
  }

  /** The live processes that run observers, including this one, as the store has them now. */
  async list(): Promise<ReadonlyMap<string, LiveSession>> {
    await this.refresh();
    const live = new Map<string, LiveSession>();
    for (const [session, record] of this.#others) {
      if (!this.#counts(session, record)) continue;
      live.set(session, { ...record, clockOffsetMs: this.#heartbeats.clockOffsetMs(session) });
    }
    if (this.#own !== undefined && this.#counts(this.session, this.#own))
      live.set(this.session, { ...this.#own, clockOffsetMs: 0 });
    return live;
  }

  /**
   * The names of the processes that declare something under this name: this one, and live ones that
   * run observers.
   */
  async declaring(name: string): Promise<readonly string[]> {
    const found = this.declared.includes(name) ? ["this process"] : [];
    for (const [session, { process }] of await this.list()) {
      if (session === this.session) continue;
      if ((await this.#records.declared(session)).includes(name)) found.push(`process ${process}`);
    }
    return found;
  }

  /**
   * The sessions that have stopped sending heartbeats, as the last reading has them, and those that
   * ended so within the last hour while this process was open.
   */
  get silent(): ReadonlyMap<string, SilentSession> {
    return this.#silent.list(this.#others, this.#readAt, (session, record) => this.#counts(session, record));
  }

  /**
   * Timestamp up to which the hints of an observer are suspect, because a process that ran it ended
   * uncleanly. 0 if none.
   */
  suspectUpTo(observer: string): number {
    return this.#suspects.get(observer) ?? 0;
  }

  /** Calls `listener` after each reading of the sessions, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Tells the other processes which observers this one runs from now on. If it runs none, removes
   * this session's record.
   */
  async host(observers: HostedObservers): Promise<void> {
    this.#hosted = observers;
    if (this.#isHosting) await this.#join();
    await this.#beat();
  }

  get #isHosting(): boolean {
    return Object.keys(this.#hosted).length > 0;
  }

  /**
   * Reports the session to the cluster, once for as long as the database is open. Waits at most
   * `joinMs` for the answer.
   */
  async #join(): Promise<void> {
    if (this.cluster === undefined) return;
    this.#joining ??= this.cluster.join(this.session, this.#closing.signal).catch((error: unknown) => {
      this.#joining = undefined;
      if (!this.#closing.signal.aborted) this.#report("joining the cluster", error);
    });
    await this.#unlessLong(this.#joining, joinMs);
  }

  /**
   * Resolves with the result of a promise that does not reject, or with undefined after `ms`
   * milliseconds.
   */
  #unlessLong<T>(waited: Promise<T>, ms: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = this.#environment.setTimer(() => resolve(undefined), ms);
      void waited.then((answer) => {
        timer.cancel();
        resolve(answer);
      });
    });
  }

  /** Sends a heartbeat, reads the other sessions, and repeats both each second. */
  #beat(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    return this.#beats.run(() => this.#beatOnce(), undefined, "A heartbeat");
  }

  async #beatOnce(): Promise<void> {
    try {
      if (!this.#isHosting) {
        if (this.#recorded) await this.#records.remove(this.session);
        this.#recorded = false;
        this.#awakeAt = Number.POSITIVE_INFINITY;
        this.#endMeter();
        return;
      }
      this.#noteAwake();
      const { processName: process } = this.#environment;
      const expires = this.#environment.now() + timeToLiveMs;
      this.#meter ??= this.#environment.meter?.();
      const vitals = this.#meter && { ...this.#meter.read(), version: packageManifest().version };
      const isFirst = !this.#recorded;
      const record = { observers: this.#hosted, expires, process, vitals };
      if (isFirst || !(await this.#records.renew(this.session, record)))
        await this.#records.put(this.session, record, this.declared);
      this.#recorded = true;
      if (isFirst || this.#isTimeToRefresh) await this.refresh();
      else this.#suspects = await readCrashSuspects(this.#store);
    } finally {
      if (this.#isHosting) this.#schedule();
    }
  }

  /**
   * Notices a pause of this process or of the whole machine. During it, this process could not have
   * seen heartbeats.
   */
  #noteAwake(): void {
    const now = this.#environment.monotonic();
    const awayMs = now - this.#awakeAt;
    if (awayMs >= timeToLiveMs / 2) this.#heartbeats.passOver(awayMs - beatMs, now);
    this.#awakeAt = now;
  }

  /**
   * Whether it is time to read the sessions again. If there are very many sessions, each one reads
   * them less often than every second.
   */
  get #isTimeToRefresh(): boolean {
    const everyMs = this.#doubtful > 0 ? beatMs : Math.max(beatMs, this.#others.size * refreshMsForEach);
    // A timer may fire a little early.
    return this.#environment.monotonic() - this.#readAt >= everyMs - beatMs / 2;
  }

  #schedule(): void {
    this.#timer?.cancel();
    const run = () => {
      this.#beat().catch((error: unknown) => this.#report("renewing the record of a session", error));
    };
    this.#timer = this.#environment.setTimer(run, beatMs, { background: true });
  }

  #report(doing: string, error: unknown): void {
    this.#attached.events.emit("backgroundFailure", { doing, error });
  }

  /**
   * Notices processes that have begun on this machine. Reads the sessions if the last reading is not
   * quite new. Called before each scan.
   */
  async notice(): Promise<void> {
    if (isRemote(this.#store) || this.#environment.monotonic() - this.#readAt < noticeMs) return;
    await this.refresh();
  }

  /**
   * Reads the sessions. Removes those that ended uncleanly, and makes the hints that they may have
   * been running suspect.
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
      const aheadMs = record.expires - timeToLiveMs - this.#environment.now();
      this.#heartbeats.see(session, record.expires, readAt, aheadMs);
    }
    this.#silent.rememberGone(this.#others, others);
    this.#heartbeats.keep(others);
    const said = await this.#askCluster(others, readAt);
    this.#own = own;
    this.#others = others;
    this.#said = said;
    this.#readAt = Math.max(this.#readAt, readAt);
    await this.#clearDead(readAt);
    for (const listener of this.#listeners) listener();
  }

  /** Asks the cluster about sessions whose records do not change. */
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
    // The process may run on another machine with the same machine name. Only the cluster then
    // knows whether the process is alive.
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

  async #clearAway(session: string, record: SessionRecord): Promise<void> {
    const next = () => this.#attached.oracle.next();
    if (await endSession(this.#store, this.#records, session, record, next)) await this.#store.clearDead?.();
  }

  /**
   * Whether a session counts as alive. The cluster's answer decides, because the cluster has a
   * connection to the session. Without an answer, the session is dead if its process has ended on
   * this machine. Otherwise the heartbeats that this process saw decide. The session's own clock
   * counts only until this process could have seen a second heartbeat.
   */
  #counts(session: string, record: SessionRecord): boolean {
    const said = this.#said.get(session);
    if (said !== undefined) return said;
    if (this.#environment.isRunning(record.process) === false) return false;
    const isFresh = this.#heartbeats.unchangedMs(session, this.#readAt) < timeToLiveMs;
    return isFresh && (this.#heartbeats.hasChanged(session) || this.#outlives(record, 0));
  }

  /**
   * Whether a record says that it is valid now, or was `graceMs` ago. A record that expires
   * unbelievably late says nothing.
   */
  #outlives({ expires }: SessionRecord, graceMs: number): boolean {
    const now = this.#environment.now();
    return expires + graceMs > now && !isBeyondBelief(expires, timeToLiveMs, now);
  }

  /**
   * Resolves when it is certain, for each session that looks dead, whether it is dead. Hints that a
   * dead session may have been running must become suspect before this process runs them. Takes a
   * little more than a second if any session is doubtful.
   */
  async settleDoubts(signal: AbortSignal): Promise<void> {
    if (this.#doubtful === 0) return;
    await sleep(this.#environment, certainMs, signal);
    await this.refresh();
  }

  #endMeter(): void {
    this.#meter?.end();
    this.#meter = undefined;
  }

  /** Ends the session, in the cluster too. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    this.#endMeter();
    if (this.#joining !== undefined) await this.cluster?.leave();
  }
}
