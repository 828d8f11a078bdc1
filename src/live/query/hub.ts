import { backoffDelay, sleep } from "../../environment/index.js";
import { ClosedError, isRetryable } from "../../errors/index.js";
import type { RegistryView } from "../../observer/index.js";
import type { TransactionContext } from "../../transaction/index.js";
import type { FeedSource } from "../feed/changes.js";
import { isLoss } from "../feed/is-loss.js";
import { ChangeLog, type LogMark } from "./change-log.js";
import { FollowedTable } from "./followed-table.js";
import type { QueryReads } from "./query-reads.js";
import { ReadIndex } from "./read-index.js";
import { RunSlots } from "./run-slots.js";

/** A live query, as the hub knows it. */
export interface HubQuery {
  /** The timestamp of its last run. Changes of later commits make it due. */
  readonly at: number;
  /** The followed tables that its last run has read. */
  readonly tables: ReadonlySet<FollowedTable>;
  /** Something that it has read has changed. */
  makeDue(): void;
  /** Its changes can no longer be found. The query ends with the error. */
  fail(error: unknown): void;
}

/** How completely the reads of a run are followed. */
export type Registration =
  /** Each later change will make the query due. */
  | { readonly type: "followed" }
  /** Something has already changed. */
  | { readonly type: "changed" }
  /** Something may have changed: the log no longer has all changes since the run began. */
  | { readonly type: "unknown" }
  /** Changes may be missed: these tables were not followed yet at the timestamp of the run. */
  | { readonly type: "unfollowed"; readonly tables: readonly FollowedTable[] };

/**
 * Least time between two looks at the feeds, in milliseconds. A look has a cost of its own, and a
 * delay of this length is not noticed.
 */
const pauseMs = 4;
/**
 * If the pause ends later than this, the process is busy: the runs of live queries take time from its
 * transactions. The pause then goes on for half of the delay, and grows only while the process has no
 * idle time to speak of. Several changes of one query then cause one run. 250 ms: a reader would notice
 * a longer pause.
 */
const maxLateMs = 10;
const longPauseMs = 250;
/** Runs that read the store at the same time. */
const maxRuns = 128;
/** Changes that are kept for runs in progress. If there are more, those runs are repeated. */
const maxLogged = 100_000;
const never = Number.POSITIVE_INFINITY;
const waiting = { initialMs: 10, maximumMs: 1_000 };

/**
 * What all live queries of a database share: it follows the tables that they read, with one scan of
 * the new entries for all of them, and finds the queries that a change affects.
 *
 * The hub looks at the feeds whenever the clock says that there may be new commits. Each look reads
 * all followed tables up to one timestamp, which then is the {@link position}.
 */
export class LiveHub {
  readonly source: FeedSource;
  readonly slots = new RunSlots(maxRuns);
  readonly #queries = new Set<HubQuery>();
  readonly #index = new ReadIndex<HubQuery>();
  readonly #log = new ChangeLog(maxLogged);
  readonly #tables = new Map<string, FollowedTable>();
  /** How many queries need each followed table. */
  readonly #needs = new Map<FollowedTable, Set<HubQuery>>();
  #position = 0;
  /**
   * The place in the log at which the look in progress began, or the first of those that have failed
   * since the last success.
   */
  #lookMark: LogMark | undefined;
  /** Ends the looks. Undefined if nothing is followed. */
  #looking: AbortController | undefined;
  #lastLook: Promise<void> | undefined;
  #knownView: RegistryView | undefined;
  /** The publications of bulk loads that were seen, by the load's start timestamp. */
  #published: ReadonlySet<number> = new Set();
  #isClosed = false;

  constructor(source: FeedSource) {
    this.source = source;
  }

  get context(): TransactionContext {
    return this.source.registry.context;
  }

  /** Changes of commits up to this timestamp are matched with the queries' reads. */
  get position(): number {
    return this.#position;
  }

  /** What the hub holds, for tests of its memory. */
  get sizes(): {
    readonly queries: number;
    readonly followed: number;
    readonly tables: number;
    readonly logged: number;
  } {
    const { size: logged } = this.#log;
    return { queries: this.#queries.size, followed: this.#index.size, tables: this.#tables.size, logged };
  }

  open(query: HubQuery): void {
    this.#queries.add(query);
    this.#tell();
  }

  /** Forgets a query, and the tables that no other one needs. */
  leave(query: HubQuery): void {
    if (!this.#queries.delete(query)) return;
    this.#index.remove(query);
    for (const table of query.tables) this.#unneed(table, query);
    this.#tell();
  }

  #tell(): void {
    this.context.events.emit("liveQuery", { open: this.#queries.size });
  }

  /**
   * Keeps the changes that a run may not see. Call it before the run reads at a timestamp that is not
   * below the {@link position}, and end the mark after it.
   */
  beginRun(): LogMark {
    return this.#log.mark(this.#lookMark);
  }

  /** Follows what a run has read. `tables` are the followed tables of its reads. */
  register(
    query: HubQuery,
    run: { readonly timestamp: number; readonly mark: LogMark; readonly reads: QueryReads },
  ): { readonly tables: ReadonlySet<FollowedTable>; readonly registration: Registration } {
    if (this.#isClosed) throw new ClosedError("The database was closed while a live query ran.");
    const { reads } = run;
    const tables = new Set([...reads.tables].map((name) => this.#follow(name)));
    for (const table of tables) this.#needs.get(table)!.add(query);
    for (const table of query.tables) if (!tables.has(table)) this.#unneed(table, query);
    const unfollowed = [...tables].filter(({ completeFrom }) => completeFrom > run.timestamp);
    if (unfollowed.length > 0) return { tables, registration: { type: "unfollowed", tables: unfollowed } };
    const isChanged = this.#isChanged(run.timestamp, run.mark, reads);
    if (isChanged === undefined) return { tables, registration: { type: "unknown" } };
    if (!isChanged) this.#index.add(query, reads.parts());
    return { tables, registration: { type: isChanged ? "changed" : "followed" } };
  }

  /** Whether changes that were found during a run affect what it has read. Undefined if some are missing. */
  #isChanged(timestamp: number, mark: LogMark, reads: QueryReads): boolean | undefined {
    let index: ReadIndex<QueryReads> | undefined;
    const affected = new Set<QueryReads>();
    return this.#log.some(mark, (change) => {
      if (change.commitTimestamp <= timestamp || !reads.tables.has(change.table)) return false;
      if (!("row" in change)) return true;
      if (index === undefined) {
        index = new ReadIndex();
        index.add(reads, reads.parts());
      }
      index.affected(change, affected);
      return affected.size > 0;
    });
  }

  /** Ends everything, and resolves when nothing uses the store any more. The queries end by their signal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const beginning = [...this.#tables.values()].map(({ ready }) => ready);
    for (const query of [...this.#queries]) this.leave(query);
    await Promise.allSettled([...beginning, this.#lastLook]);
  }

  #follow(name: string): FollowedTable {
    let table = this.#tables.get(name);
    if (table === undefined) {
      const followed = new FollowedTable(this.source, name);
      table = followed;
      this.#tables.set(name, followed);
      this.#needs.set(followed, new Set());
      followed.ready.catch((error: unknown) => {
        if (followed.isEnded) return;
        if (!isRetryable(error)) return this.#fail(followed, error);
        // An outage. Its queries run again, and then follow it again.
        this.context.events.emit("backgroundFailure", { doing: "following a table for live queries", error });
        const due = new Set<HubQuery>();
        this.#lose(followed, due);
        for (const query of due) query.makeDue();
      });
      this.#look();
    }
    return table;
  }

  #unneed(table: FollowedTable, query: HubQuery): void {
    const needs = this.#needs.get(table);
    needs?.delete(query);
    if (needs?.size === 0) this.#unfollow(table);
  }

  #unfollow(table: FollowedTable): void {
    table.end();
    this.#needs.delete(table);
    if (this.#tables.get(table.name) === table) this.#tables.delete(table.name);
    if (this.#tables.size > 0) return;
    this.#looking?.abort();
    this.#looking = undefined;
    this.#endLook();
  }

  #look(): void {
    if (this.#looking !== undefined || this.#isClosed) return;
    const looking = new AbortController();
    this.#looking = looking;
    // It ends only when it is aborted.
    this.#lastLook = this.#lookWhile(looking.signal).catch(() => undefined);
  }

  async #lookWhile(signal: AbortSignal): Promise<void> {
    const { environment, events } = this.context;
    let failures = 0;
    for (;;) {
      const upTo = await this.source.clock.after(this.#position, signal);
      try {
        await this.#lookUpTo(upTo, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        events.emit("backgroundFailure", { doing: "reading the changes for live queries", error });
        failures++;
      }
      if (failures === 0) await this.#pause(signal);
      else await sleep(environment, backoffDelay(environment, waiting, failures), signal);
    }
  }

  /** Waits until the next look. In a process that is busy, leaves time to its transactions. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { environment } = this.context;
    const endsAt = environment.monotonic() + pauseMs;
    await sleep(environment, pauseMs, signal);
    const lateMs = environment.monotonic() - endsAt;
    if (lateMs > maxLateMs) await sleep(environment, Math.min(longPauseMs, lateMs / 2), signal);
  }

  #endLook(): void {
    this.#lookMark?.end();
    this.#lookMark = undefined;
  }

  /** Reads the feeds of all tables up to a timestamp, and makes the affected queries due. */
  async #lookUpTo(upTo: number, signal: AbortSignal): Promise<void> {
    const due = new Set<HubQuery>();
    // A run that begins during the look, or after it has failed, reads at the old position.
    this.#lookMark ??= this.#log.mark();
    try {
      const reads = [...this.#tables.values()].map((table) => this.#read(table, upTo, due, signal));
      // If one fails, the others still find changes.
      const failed = (await Promise.allSettled(reads)).find((read) => read.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      await this.#findLoaded(upTo, due);
      if (signal.aborted) return;
      this.#position = upTo;
      this.#endLook();
    } finally {
      // Only now, because the runs read at the new position.
      for (const query of due) query.makeDue();
    }
  }

  async #read(table: FollowedTable, upTo: number, due: Set<HubQuery>, signal: AbortSignal): Promise<void> {
    const affected = new Set<HubQuery>();
    try {
      await table.read(upTo, (entries) => {
        for (const { commitTimestamp, writes } of entries) {
          for (const write of writes) {
            const change = { ...write, commitTimestamp };
            this.#log.add(change);
            affected.clear();
            this.#index.affected(change, affected);
            for (const query of affected) if (query.at < commitTimestamp) this.#makeDue(query, due);
          }
        }
      });
    } catch (error) {
      if (signal.aborted || table.isEnded) return;
      if (isLoss(error)) this.#lose(table, due);
      else if (isRetryable(error)) throw error;
      else this.#fail(table, error);
    }
  }

  #makeDue(query: HubQuery, due: Set<HubQuery>): void {
    this.#index.remove(query);
    due.add(query);
  }

  /** Begins again with a table whose changes may be missing. */
  #lose(table: FollowedTable, due: Set<HubQuery>): void {
    for (const query of this.#needs.get(table) ?? []) this.#makeDue(query, due);
    this.#unfollow(table);
  }

  /** Ends the queries that need a table which cannot be followed. */
  #fail(table: FollowedTable, error: unknown): void {
    for (const query of this.#needs.get(table) ?? []) query.fail(error);
    this.#unfollow(table);
  }

  /** Finds bulk loads that were published. They leave no entries. */
  async #findLoaded(upTo: number, due: Set<HubQuery>): Promise<void> {
    const view = await this.source.registry.fresh();
    if (view === this.#knownView) return;
    const isSeen = ({ publishedAt = never }: { readonly publishedAt: number | undefined }) =>
      publishedAt <= upTo;
    const published = view.loadRecords.filter(isSeen);
    for (const { start, ranges, publishedAt } of published) {
      if (this.#published.has(start)) continue;
      for (const { table } of ranges) {
        this.#log.add({ table, commitTimestamp: publishedAt! });
        const followed = this.#tables.get(table);
        if (followed === undefined) continue;
        for (const query of this.#needs.get(followed) ?? []) {
          if (query.at < publishedAt!) this.#makeDue(query, due);
        }
      }
    }
    this.#published = new Set(published.map(({ start }) => start));
    // A load that is published after `upTo` is looked at again.
    const isAll = view.loadRecords.every((load) => load.publishedAt === undefined || isSeen(load));
    this.#knownView = isAll ? view : undefined;
  }
}
