import type { Environment, Timer } from "../environment/index.js";
import { InternalError } from "../errors/index.js";
import { allColumns, type MaybePromise, type Position, type RowStore } from "../store/index.js";
import {
  decodeWrite,
  type Liveness,
  putHint,
  systemCell,
  systemTable,
  type TransactionContext,
} from "../transaction/index.js";
import { decodeJson, dictionaryOf, encodeJson, isString, isTime, isWhole, record } from "./stored-json.js";
import { readSuspicions, suspect } from "./suspicions.js";

/** Names of observers with the version that is run. */
export type HostedObservers = Readonly<Record<string, number>>;

/** What a session tells the others of itself. */
export interface SessionRecord {
  /** The observers that its workers run, each with its version. */
  readonly observers: HostedObservers;
  /** Wall time in milliseconds after which it counts as dead. */
  readonly expires: number;
  /** The process, by the environment's name for it: where that is known to have ended, nobody waits for the time. */
  readonly process: string;
}

const isSessionRecord = record<SessionRecord>({
  observers: dictionaryOf(isWhole),
  expires: isTime,
  process: isString,
});

export interface SessionsOptions {
  readonly store: RowStore;
  readonly environment: Environment;
}

const rowPrefix = "session/";
const column = Buffer.from("state");
/** A session has one record, which each sign of life replaces. */
const recordTimestamp = 1;

const beatMs = 1_000;
const timeToLiveMs = 5 * beatMs;
/** How long what was read of other sessions counts as new. */
const cacheMs = 250;

const noBytes = new Uint8Array(0);
const unreadable: SessionRecord = Object.freeze({ observers: {}, expires: 0, process: "" });

/**
 * The processes that work on a store, as they tell each other in its system table. A session is recorded while workers stand
 * in it, shows a sign of life each second, and removes its record when it ends. One whose record expires
 * ended uncleanly: what it may have been working on is then suspect.
 */
export class Sessions implements Liveness {
  readonly session: string;
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly #listeners = new Set<() => void>();
  #context: TransactionContext | undefined;
  #hosted: HostedObservers = {};
  #recorded = false;
  #timer: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #others: ReadonlyMap<string, SessionRecord> = new Map();
  #suspicions: ReadonlyMap<string, number> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: SessionsOptions) {
    this.session = options.environment.uniqueId();
    this.#store = options.store;
    this.#environment = options.environment;
  }

  /** The second half of making it: what its messages and timestamps need. */
  attach(context: TransactionContext): void {
    this.#context = context;
  }

  /** Whether a session lives; undefined for one that is not recorded. */
  alive(session: string): MaybePromise<boolean | undefined> {
    if (session === this.session) return true;
    if (this.#environment.monotonic() - this.#readAt < cacheMs) return this.isLive(session);
    return this.refresh().then(() => this.isLive(session));
  }

  /** As {@link alive}, by what was last read. */
  isLive(session: string): boolean | undefined {
    if (session === this.session) return true;
    const record = this.#others.get(session);
    return record === undefined ? undefined : this.#counts(record);
  }

  /** The live sessions that run this version of an observer, by what was last read; this one among them if it does. */
  hosting(observer: string, version: number): readonly string[] {
    const hosting = [...this.#others]
      .filter(([, record]) => record.observers[observer] === version && this.#counts(record))
      .map(([session]) => session);
    if (this.#hosted[observer] === version) hosting.push(this.session);
    return hosting;
  }

  /** The processes that run observers and live, this one among them, as they stand in the store. */
  async list(): Promise<ReadonlyMap<string, SessionRecord>> {
    const live = new Map<string, SessionRecord>();
    for await (const [session, record] of this.#records())
      if (this.#counts(record)) live.set(session, record);
    return live;
  }

  /** Timestamp up to which hints of an observer are suspect: a process that ran it ended uncleanly. 0 for none. */
  suspectUpTo(observer: string): number {
    return this.#suspicions.get(observer) ?? 0;
  }

  /** Calls `listener` when it was read again who hosts what, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the others which observers this process runs from now on; none ends the session. */
  async host(observers: HostedObservers): Promise<void> {
    this.#hosted = observers;
    await this.#beat();
  }

  get #isHosting(): boolean {
    return Object.keys(this.#hosted).length > 0;
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
        if (this.#recorded) await this.#removeRecord(this.session);
        this.#recorded = false;
        return;
      }
      await this.#putRecord();
      this.#recorded = true;
      await this.refresh();
    } finally {
      if (this.#isHosting) this.#schedule();
    }
  }

  #schedule(): void {
    this.#timer?.cancel();
    const run = () => {
      this.#beat().catch((error: unknown) => {
        this.#attached.events.emit("backgroundFailure", { doing: "a session's sign of life", error });
      });
    };
    this.#timer = this.#environment.setTimer(run, beatMs, { background: true });
  }

  get #attached(): TransactionContext {
    if (this.#context === undefined) throw new InternalError("The sessions have no context yet.");
    return this.#context;
  }

  /** Reads who lives. Sessions that ended uncleanly are cleared away, and what they worked on becomes suspect. */
  async refresh(): Promise<void> {
    const readAt = this.#environment.monotonic();
    const others = new Map<string, SessionRecord>();
    const expired = new Map<string, SessionRecord>();
    for await (const [session, record] of this.#records()) {
      if (session === this.session) continue;
      others.set(session, record);
      if (!this.#counts(record)) expired.set(session, record);
    }
    this.#others = others;
    if (this.#isHosting) {
      for (const [session, record] of expired) await this.#clearAway(session, record);
      this.#suspicions = await readSuspicions(this.#store);
    }
    this.#readAt = readAt;
    for (const listener of this.#listeners) listener();
  }

  async #clearAway(session: string, record: SessionRecord): Promise<void> {
    // One of its own: an end that comes after another without a commit between them counts too.
    const upTo = await this.#attached.oracle.next();
    await suspect(this.#store, Object.keys(record.observers), upTo);
    await this.#removeRecord(session);
  }

  #counts(record: SessionRecord): boolean {
    const environment = this.#environment;
    return record.expires > environment.now() && environment.isRunning(record.process) !== false;
  }

  async *#records(): AsyncGenerator<readonly [string, SessionRecord]> {
    let start: Position | undefined = { row: Buffer.from(rowPrefix) };
    const end = { row: Buffer.from("session0") };
    while (start !== undefined) {
      const page: Awaited<ReturnType<RowStore["readRange"]>> = await this.#store.readRange({
        table: systemTable,
        start,
        end,
        columns: allColumns,
        at: Number.POSITIVE_INFINITY,
      });
      for (const { row, cells } of page.rows) {
        const stored = cells[0]?.write?.value;
        if (stored === undefined) continue;
        const session = Buffer.from(row).toString("utf8").slice(rowPrefix.length);
        yield [session, this.#decode(session, stored)];
      }
      start = page.next;
    }
  }

  /** A record that cannot be read is of nobody who lives: whoever does writes it anew within a second. */
  #decode(session: string, stored: Uint8Array): SessionRecord {
    try {
      const bytes = decodeWrite(stored).value ?? noBytes;
      return decodeJson(bytes, `The record of session ${session}`, isSessionRecord);
    } catch (error) {
      this.#attached.events.emit("backgroundFailure", {
        doing: `reading the record of session ${session}`,
        error,
      });
      return unreadable;
    }
  }

  async #putRecord(): Promise<void> {
    const state: SessionRecord = {
      observers: this.#hosted,
      expires: this.#environment.now() + timeToLiveMs,
      process: this.#environment.processName,
    };
    const { table, row } = systemCell(`${rowPrefix}${this.session}`, "state");
    const value = encodeJson(state);
    await this.#store.mutate({
      table,
      row,
      guards: [],
      mutations: [putHint(column, recordTimestamp, value)],
    });
  }

  async #removeRecord(session: string): Promise<void> {
    const { table, row } = systemCell(`${rowPrefix}${session}`, "state");
    await this.#store.mutate({
      table,
      row,
      guards: [],
      mutations: [{ type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }],
    });
  }
}
