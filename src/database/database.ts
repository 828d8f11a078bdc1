import { underSignals } from "../environment/index.js";
import { ClosedError, checkArgument, SchemaError, StoreError } from "../errors/index.js";
import {
  checkListener,
  type EventListener,
  type EventName,
  Metrics,
  type MetricsSnapshot,
} from "../events/index.js";
import {
  type DropReport,
  type DropTarget,
  drop,
  type MigrateOptions,
  type MigrateReport,
  migrate,
  type PassOptions,
  release,
  type SchemaReport,
  schemaReport,
} from "../evolution/index.js";
import {
  type ChangesOptions,
  type FeedChange,
  type FeedSource,
  type FollowEvent,
  Followers,
  type LiveHub,
  type LiveOptions,
  type LiveRead,
  type LiveValue,
  recordedFeeds,
  removeFeed,
  type SettledOptions,
  trimFeeds,
  type Watchable,
  type WatchedChange,
  type WatchOptions,
} from "../live/index.js";
import {
  type BackfillOptions,
  type BackfillReport,
  backfill,
  type DiscardLoadOptions,
  type DrainOptions,
  type DueCell,
  discardLoad,
  discardParked,
  type HandledCellOf,
  isObserver,
  type LoadInfo,
  type LoadOptions,
  type LoadPart,
  type LoadReport,
  listLoads,
  listParked,
  listPending,
  load,
  markDue,
  markHandled,
  type ObservedCell,
  type Observer,
  type ObserverRecord,
  type ParkedChange,
  type ParkedOptions,
  type PendingChange,
  type PendingOptions,
  parkedTable,
  pendingOfRow,
  type Registry,
  retryParked,
  type Sessions,
  type UnregisterOptions,
  unregister,
  type Worker,
  WorkerPool,
  type WorkOptions,
  wholeTable,
} from "../observer/index.js";
import {
  type AnyTable,
  type Column,
  definition,
  encodeRow,
  type Feed,
  type FeedColumn,
  isTable,
  type KeyOf,
  type TableDefinition,
} from "../schema/index.js";
import type { RowStore } from "../store/index.js";
import {
  type CellAddress,
  type CheckOptions,
  type CollectOptions,
  type CollectReport,
  check,
  checkTimeout,
  feedTable,
  type HistoryEntry,
  type HistoryOptions,
  history,
  type InspectedColumn,
  inspectRow,
  type LockInfo,
  listLocks,
  type Problem,
  resolveLock,
  type Snapshot,
  showColumn,
  systemTable,
  type Transaction,
  type TransactionContext,
  type TransactionOptions,
  type TransactOptions,
  transact,
} from "../transaction/index.js";
import { BegunTransactions } from "./begun.js";
import { known } from "./call-options.js";
import { checkDeclared } from "./check-declared.js";
import { ActivePublisher } from "./collection/active-publisher.js";
import { Collector } from "./collection/collector.js";
import { Expirer } from "./collection/expirer.js";
import { type SnapshotOptions, takeSnapshot } from "./collection/snapshots.js";
import { type StrayRecord, strayRecords } from "./collection/stray-records.js";
import type { Coordination } from "./coordination/coordination.js";
import { type DatabaseReach, type ReachOptions, reachOf } from "./coordination/reach.js";
import { declared as allDeclared, type DeclaredSchema } from "./declared.js";
import type { Settings } from "./options.js";
import { Sources } from "./sources.js";
import { type DatabaseStatus, statusOf } from "./status.js";

/** Most problems that {@link Database.check} lists unless the caller gives another number. */
const maxListed = 1_000;

/** The parts that `open` builds a database from. */
export interface DatabaseParts {
  readonly context: TransactionContext;
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly settings: Settings;
  /** The observers that this process can run. */
  readonly observers: readonly Observer[];
  /** The store as the caller gave it, or as the location said. */
  readonly store: RowStore;
  /** The tables that have a source. */
  readonly withSource: readonly TableDefinition[];
  /** The connection to the cluster's coordinator, if there is one. The database closes it. */
  readonly coordination?: Coordination | undefined;
}

/**
 * An open database. `open` creates it. Close it with {@link close}, or declare it with `await
 * using`.
 */
export class Database {
  readonly #context: TransactionContext;
  readonly #registry: Registry;
  readonly #sessions: Sessions;
  readonly #collector: Collector;
  readonly #expirer: Expirer;
  readonly #publisher: ActivePublisher | undefined;
  readonly #readOnly: boolean;
  readonly #metrics: Metrics;
  readonly #workers: WorkerPool;
  readonly #coordination: Coordination | undefined;
  readonly #begun = new BegunTransactions();
  readonly #store: RowStore;
  readonly #sources: Sources;
  readonly #followers: Followers;
  readonly #moving = new Set<Promise<void>>();
  readonly #stopMoving = new AbortController();
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: DatabaseParts) {
    const { context, registry, sessions, settings, observers } = parts;
    this.#coordination = parts.coordination;
    this.#context = context;
    this.#registry = registry;
    this.#sessions = sessions;
    this.#followers = new Followers(registry);
    this.#metrics = new Metrics(context.events);
    this.#workers = new WorkerPool({ registry, sessions, observers });
    this.#readOnly = settings.readOnly;
    this.#store = parts.store;
    const { store, withSource: tables } = parts;
    this.#sources = new Sources(context, { database: this, store, tables });
    this.#publisher = settings.readOnly ? undefined : new ActivePublisher(context, context.liveness.session);
    this.#collector = new Collector(
      context,
      () => this.cellTables(),
      (signal) => trimFeeds(registry, signal),
      settings.readOnly ? 0 : settings.collectEveryMs,
    );
    this.#expirer = new Expirer(registry, settings.readOnly ? 0 : settings.expireEveryMs);
  }

  #open(): TransactionContext {
    if (this.#closing === undefined) return this.#context;
    throw new ClosedError(`The database ${this.#context.store.description} was closed: open it again.`);
  }

  /** Returns the context for an operation that writes. Throws if the database is read-only. */
  #writable(doing: string): TransactionContext {
    const context = this.#open();
    if (!this.#readOnly) return context;
    throw new StoreError(
      `The database ${context.store.description} was opened with \`readOnly\`, so it cannot ${doing}. Open it without \`readOnly\`.`,
    );
  }

  /**
   * Runs `run` in a transaction and commits it. If the transaction conflicts, runs `run` again
   * after a backoff, so `run` must have no side effects outside the transaction. Resolves to the
   * result of `run` when the commit is durable.
   *
   * @throws whatever `run` throws, without a commit.
   * @throws ConflictError after the last retry.
   * @throws TimeoutError or AbortedError if the deadline passes or the signal is aborted.
   *
   * @example
   * await db.transact(async (tx) => tx.set(counters.hits, page, ((await tx.get(counters.hits, page)) ?? 0) + 1));
   */
  transact<T>(run: (tx: Transaction) => T | Promise<T>, options: TransactOptions = {}): Promise<T> {
    try {
      return transact(this.#writable("run transactions"), run, known("db.transact", options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Starts a transaction that the caller ends with `await tx.commit()` or `await tx.rollback()`. If
   * the caller declares it with `await using`, it is rolled back at the end of the block unless it
   * was committed.
   */
  async begin(options: TransactionOptions = {}): Promise<Transaction> {
    const context = this.#writable("begin transactions");
    known("db.begin", options);
    return this.#begun.begin(context, options);
  }

  /**
   * Opens a read-only view of the database, as of now or of a moment within the retention. Close
   * it, or declare it with `await using`.
   */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    return takeSnapshot(this.#open(), known("db.snapshot", options), (timestamp) =>
      this.#publisher?.cover(timestamp),
    );
  }

  /**
   * Starts a worker. It runs the observers given to `open`, or some of them, until it is stopped.
   * The worker handles changes of this process as soon as they are committed. It finds the changes
   * of other processes by scanning, well within a second.
   *
   * @example
   * await using worker = db.work({ concurrency: 32 });
   */
  work(options: WorkOptions = {}): Worker {
    this.#writable("run observers");
    const worker = this.#workers.work(known("db.work", options));
    this.#moveWhile(worker);
    return worker;
  }

  /** Moves the changes of attached tables until the worker or the database stops. */
  #moveWhile(worker: Worker): void {
    if (this.#sources.isEmpty) return;
    const both = [worker.stopping, this.#stopMoving.signal];
    const moving = underSignals(both, (signal) => this.#sources.run(signal)).catch(() => undefined);
    this.#moving.add(moving);
    void moving.then(() => this.#moving.delete(moving));
  }

  /**
   * The store that a source is in.
   *
   * @internal
   */
  get openedStore(): RowStore {
    this.#open();
    return this.#store;
  }

  /**
   * Runs observers until nothing is left to do. Handles every change that any process committed
   * before the call, and all changes that those runs cause. Waits for changes that will be retried,
   * but not for parked ones.
   *
   * @throws ObserverError if changes wait for observers that no live process runs.
   * @throws SchemaError if an attached SQL table is parked or not attached. Everything else is
   * handled.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    this.#writable("run observers");
    const { signal } = known("db.drain", options);
    const [problem] = await this.#sources.drain(signal);
    await this.#workers.drain(options);
    if (problem !== undefined) throw problem;
  }

  /**
   * Resolves when nothing is left to do, as {@link drain} does, but runs no observers itself. The
   * workers of this or other processes run them.
   *
   * @throws ObserverError if changes wait for observers that no live process runs. A process counts
   * as live until it has sent no heartbeat for 15 s.
   */
  async idle(options: DrainOptions = {}): Promise<void> {
    this.#open();
    await this.#workers.idle(known("db.idle", options));
  }

  /**
   * Resolves when everything that a commit has caused is handled by observers, transitively: a
   * snapshot that is taken then has all derived writes. Waits for nothing else. The workers of this
   * or other processes run the observers. Pass `tx.commitTimestamp`, of any process. A transaction
   * that wrote nothing has none: the call then resolves at once.
   *
   * The first call, and the first after ten minutes without one, begins to record which changes
   * runs cause.
   *
   * @throws DerivationFailedError if something that the commit has caused is parked.
   * @throws TimeoutError after `timeoutMs`, with what is due.
   *
   * @example
   * const tx = await db.transact((tx) => {
   *   tx.set(orders.state, "o1", "paid");
   *   return tx;
   * });
   * await db.settled(tx.commitTimestamp, { timeoutMs: 5_000 });
   */
  async settled(commitTimestamp: number | undefined, options: SettledOptions = {}): Promise<void> {
    this.#writable("wait for derived writes");
    await this.#followers.settled(commitTimestamp, known("db.settled", options));
  }

  /** Lists the changes that observers have not handled yet. */
  pending(options: PendingOptions = {}): AsyncIterable<PendingChange> {
    this.#open();
    return listPending(this.#registry, known("db.pending", options));
  }

  /**
   * Lists the changes of one row that observers have not handled yet.
   *
   * @internal
   */
  async pendingOf<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<readonly PendingChange[]> {
    this.#open();
    return pendingOfRow(this.#registry, table[definition].name, encodeRow(table[definition], row));
  }

  /**
   * How many observer runs are in progress in this process, and how many rows it has claimed.
   * `claims` is undefined without a coordinator.
   *
   * @internal
   */
  get activity(): { readonly running: number; readonly claims: number | undefined } {
    return { running: this.#workers.running, claims: this.#workers.claims?.size };
  }

  /** Lists the parked changes: those whose observer failed in its last attempt. */
  parked(options: ParkedOptions = {}): AsyncIterable<ParkedChange> {
    this.#open();
    return listParked(this.#registry, known("db.parked", options));
  }

  /** Makes a parked change due again. Resolves to false if it is no longer parked. */
  async retry(parked: ObservedCell): Promise<boolean> {
    this.#writable("retry a change");
    return retryParked(this.#registry, parked);
  }

  /** Counts a parked change as handled. Resolves to false if it is no longer parked. */
  async discard(parked: ObservedCell): Promise<boolean> {
    this.#writable("discard a change");
    return discardParked(this.#registry, parked);
  }

  /**
   * Makes an observer due on the cells that exist already. Use it for a new observer, or a new
   * version of one. An interrupted backfill continues with the next call.
   *
   * On PostgreSQL and Bigtable it begins two seconds after this process has first seen the version:
   * by then, no worker takes an older version for the registered one.
   */
  async backfill(observer: Observer | string, options: BackfillOptions = {}): Promise<BackfillReport> {
    this.#writable("mark cells as due");
    return backfill(
      this.#registry,
      isObserver(observer) ? observer.name : observer,
      known("db.backfill", options),
    );
  }

  /**
   * Rewrites the values of older versions in the columns that declare versions (see `json`). Readers
   * return the same values before and after, so nobody is notified, and no transaction conflicts. If
   * the call is interrupted, call it again: it continues. Run it while no older program writes, or
   * repeat it when the last one has ended.
   *
   * Values whose upgrade fails stay as they are, and are in the report. Values of a newer version stay too.
   *
   * @throws SchemaError if a table contradicts what is recorded.
   *
   * @example
   * const [report] = await db.migrate([pages], { rate: 1_000 });
   */
  async migrate(
    tables: readonly AnyTable[],
    options: MigrateOptions = {},
  ): Promise<readonly MigrateReport[]> {
    const { check } = known("db.migrate", options);
    if (check === true) this.#open();
    else this.#writable("rewrite values");
    return migrate(this.#registry, tables, options);
  }

  /**
   * Lists what the database records: tables with their columns, observers, feeds and dropped names.
   * With a program's declarations, as `open` takes them, also how they differ, and what deals with each difference.
   * Changes nothing.
   *
   * @example
   * const { differences } = await db.schema({ tables: [orders], observers: [total] });
   */
  async schema(declared?: DeclaredSchema): Promise<SchemaReport> {
    this.#open();
    if (declared !== undefined) checkDeclared(known("db.schema", declared));
    return schemaReport(this.#registry, declared && { ...allDeclared(declared), feeds: declared.feeds });
  }

  /**
   * Drops a table, or a column, family or signal of one: takes its name out of what the database
   * records, and removes its cells. From then on nobody can write there, and `open` refuses a program
   * that declares the name, until {@link release}. If the call is interrupted, call it again.
   *
   * @throws SchemaError if the database has no such name, or if something still uses it: a live
   * process, an observer, a feed, a unique constraint or an exact index. Nothing was changed.
   *
   * @example
   * await db.drop({ table: "orders", column: "total" }, { rate: 1_000 });
   */
  async drop(target: DropTarget, options: PassOptions = {}): Promise<DropReport> {
    this.#writable("drop a column or a table");
    return drop(this.#registry, this.#sessions, target, known("db.drop", options));
  }

  /**
   * Lets programs use the name of a dropped column or table again.
   *
   * @throws SchemaError if the name is not dropped.
   */
  async release(target: DropTarget): Promise<void> {
    this.#writable("release a name");
    await release(this.#registry, target);
  }

  /**
   * Makes observers due on cells, even if the observers are not registered yet.
   *
   * @internal
   */
  async markDue(due: readonly DueCell[], signal?: AbortSignal): Promise<void> {
    this.#open();
    await markDue(this.#registry, due, signal);
  }

  /**
   * Records tables. Changes nothing if one of them contradicts the registry, or one of the observers that
   * will be registered later.
   *
   * @internal
   */
  async recordTables(
    tables: readonly AnyTable[],
    observers: readonly Observer[],
    signal?: AbortSignal,
  ): Promise<void> {
    this.#writable("record tables");
    await this.#registry.compare(tables, observers);
    await this.#registry.register(tables, [], [], signal);
  }

  /**
   * Registers observers that other programs run.
   *
   * @internal
   */
  async registerObservers(observers: readonly Observer[], signal?: AbortSignal): Promise<void> {
    this.#writable("register observers");
    await this.#registry.register([], observers, [], signal);
    await this.#registry.untilAllKnown(observers);
  }

  /**
   * Records that registered observers have handled the present values of cells.
   *
   * @internal
   */
  async markHandled(handled: readonly HandledCellOf[], signal?: AbortSignal): Promise<void> {
    this.#open();
    await markHandled(this.#registry, handled, signal);
  }

  /**
   * Removes an observer with its hints, acknowledgments and parked changes. If the call is
   * interrupted, repeat it.
   */
  async unregister(observer: string, options: UnregisterOptions = {}): Promise<void> {
    this.#writable("unregister an observer");
    known("db.unregister", options);
    await unregister(this.#registry, observer, options, () => this.#workers.forget(observer));
  }

  /**
   * Loads rows into empty tables or ranges, at several times the rate of transactions: the initial
   * load of the paper. Rows come in key order. Derived tables are loaded too, with the rows that
   * observers would have written. No observer runs for what was loaded: the load writes the
   * acknowledgments of all registered observers.
   *
   * - No reader sees a row until all are stored. Then all become visible in one transaction.
   * - Until then, no transaction may write in the ranges: it gets a `LoadError`.
   * - If the call is interrupted, call it again with the same name and parts. It continues after the
   *   last row that is known to be stored. {@link discardLoad} removes the rows instead.
   * - If a load of this name was published before, the call changes nothing.
   *
   * Register the observers before the load. For an observer that is registered later, the loaded
   * cells count as older than its registration, so it needs a {@link backfill}.
   *
   * @throws LoadError if a range is not empty, if another call runs this load or one with rows in
   * common, or if the load was begun with other parts.
   * @throws InvalidKeyError if a row is out of order, and InvalidValueError if a column's codec
   * refuses a value. The stored rows stay invisible. Correct the source, discard the load, and load
   * again.
   *
   * @example
   * await db.load("first-crawl", [
   *   loadPart(documents, (after) => pagesSortedByUrl({ after })),
   *   loadPart(duplicates, (after) => clustersSortedByHash({ after })),
   * ]);
   */
  async load(name: string, parts: readonly LoadPart[], options: LoadOptions = {}): Promise<LoadReport> {
    this.#writable("load rows");
    return load(this.#registry, name, parts, known("db.load", options));
  }

  /** Lists the bulk loads, published ones included. */
  async loads(): Promise<readonly LoadInfo[]> {
    this.#open();
    return listLoads(this.#registry);
  }

  /**
   * Removes the rows of an unfinished bulk load, and opens its ranges to transactions again. If the
   * call is interrupted, repeat it.
   *
   * @throws LoadError if there is no such load, if it is published, or if another call runs it.
   */
  async discardLoad(name: string, options: DiscardLoadOptions = {}): Promise<void> {
    this.#writable("discard a load");
    return discardLoad(this.#registry, name, known("db.discardLoad", options));
  }

  /**
   * Follows the committed changes of a feed's columns, by any process, in commit order: each change
   * once, and all changes of a transaction one after another. Never ends by itself.
   *
   * To continue after a restart, keep the `commitTimestamp` of the last change that was handled and
   * had `isLast`, and pass it as `since`.
   *
   * @throws StaleSnapshotError if the feed no longer has all changes after `since`: they are older
   * than its retention, or than the feed. {@link follow} then begins with a snapshot.
   * @throws SchemaError if the database has no such feed.
   *
   * @example
   * for await (const { row, value, commitTimestamp, isLast } of db.changes(orderFeed, { since: kept })) {
   *   await index.update(row, value);
   *   if (isLast) await keep(commitTimestamp);
   * }
   */
  changes<C extends FeedColumn>(
    feed: Feed<C>,
    options: ChangesOptions = {},
  ): AsyncGenerator<FeedChange<C>, void, undefined> {
    this.#open();
    return this.#followers.changes(feed, known("db.changes", options));
  }

  /**
   * Follows a feed from a snapshot on, without gap or overlap: first every cell of the feed's columns, then
   * their changes. With `since`, there is a snapshot only if the feed cannot continue there. If the loop
   * falls behind by more than the feed's retention, another snapshot begins.
   *
   * @example
   * const totals = new Map<string, number>();
   * for await (const event of db.follow(orderFeed)) {
   *   if (event.type === "reset") totals.clear();
   *   if (event.type === "cell" || event.type === "change") totals.set(event.change.row, event.change.value ?? 0);
   * }
   */
  follow<C extends FeedColumn>(
    feed: Feed<C>,
    options: ChangesOptions = {},
  ): AsyncGenerator<FollowEvent<C>, void, undefined> {
    this.#open();
    return this.#followers.follow(feed, known("db.follow", options));
  }

  /**
   * Follows the result of a query: runs `read` now, and again whenever something that it has read was
   * changed by any process. Each value is what `read` returns for the snapshot at its timestamp, and
   * timestamps rise. A value that deeply equals the one before is left out.
   *
   * The function runs only while a `next` waits. So a slow consumer gets the latest value, and never a
   * backlog. End the loop, abort the signal, or close the database to end the query.
   *
   * @throws whatever `read` throws, and a TimeoutError if one run takes longer than `timeoutMs`.
   * @throws LimitExceededError if a run reads more than 100,000 cells.
   *
   * @example
   * for await (const { value } of db.live((snapshot) => snapshot.get(accounts.balance, "alice"))) show(value);
   */
  live<T>(read: LiveRead<T>, options: LiveOptions = {}): AsyncGenerator<LiveValue<T>, void, undefined> {
    this.#writable("follow a live query, which records a feed");
    return this.#followers.live(read, known("db.live", options));
  }

  /**
   * Follows the committed changes of a column, a family or a table, by any process, in commit order, as
   * {@link changes} does, but without a declared feed. Each change comes once, and all changes of a
   * transaction one after another. Never ends by itself.
   *
   * While somebody watches a table, each transaction that changes it writes one more cell. Values are
   * read when the change is told, so a reader that falls behind by more than the retention fails.
   *
   * @throws StaleSnapshotError if `since` is older than the retention, or the reader falls behind.
   *
   * @example
   * for await (const { row, value } of db.watch(orders.state, { prefix: "2026-" })) console.log(row, value);
   */
  watch<T extends Watchable>(
    target: T,
    options: WatchOptions<KeyOf<T>> = {},
  ): AsyncGenerator<WatchedChange<T>, void, undefined> {
    this.#writable("watch changes, which records a feed");
    return this.#followers.watch(target, known("db.watch", options as WatchOptions));
  }

  /**
   * What reads feeds, for tests of leased feeds.
   *
   * @internal
   */
  get liveSource(): FeedSource {
    this.#open();
    return this.#followers.source;
  }

  /**
   * What the live queries of this process hold.
   *
   * @internal
   */
  get liveSizes(): LiveHub["sizes"] {
    return this.#followers.hub.sizes;
  }

  /** Returns the feeds that the database has recorded, by name. */
  async feeds(): Promise<ReadonlyMap<string, Feed>> {
    this.#open();
    return recordedFeeds(await this.#registry.fresh());
  }

  /**
   * Removes a feed with its changes. Transactions then no longer add to it, and its readers get a
   * SchemaError. If the call is interrupted, repeat it.
   */
  async removeFeed(name: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    this.#writable("remove a feed");
    await removeFeed(this.#registry, name, known("db.removeFeed", options).signal);
  }

  /**
   * Returns the committed versions of a cell, newest first. Garbage collection may have removed
   * older ones. All are in memory at once, so give a `limit` for a cell that changes often.
   */
  async history<V, K>(
    column: Column<V, K>,
    row: NoInfer<K>,
    options: HistoryOptions = {},
  ): Promise<readonly HistoryEntry<V>[]> {
    return history(this.#open(), column, row, known("db.history", options));
  }

  /**
   * Returns the protocol's cells of a row, decoded: locks, write records, values, statuses and
   * acknowledgments. Of each cell, the newest 1,000 of each kind.
   */
  async inspect<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<readonly InspectedColumn[]> {
    const columns: InspectedColumn[] = [];
    for await (const column of this.inspectEach(table, row)) columns.push(column);
    return columns;
  }

  /**
   * As {@link inspect}, but yields one column after the other.
   *
   * @internal
   */
  async *inspectEach<T extends AnyTable>(table: T, row: KeyOf<T>): AsyncGenerator<InspectedColumn> {
    const context = this.#open();
    if (!isTable(table))
      throw new SchemaError("`inspect` takes a table that `table(name, columns)` returned.");
    yield* inspectRow(context, table[definition].name, encodeRow(table[definition], row));
  }

  /** Yields every lock in the database. */
  async *locks(options: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<LockInfo> {
    const { signal } = known("db.locks", options);
    yield* listLocks(this.#open(), await this.cellTables(), signal);
  }

  /**
   * Rolls a lock forward or back according to its primary lock. If the lock's owner is alive,
   * leaves the lock and resolves to `"standing"`.
   */
  async resolve(lock: LockInfo): Promise<"gone" | "standing"> {
    const context = this.#writable("resolve a lock");
    const isLock = [lock?.cell, lock?.primary].every((cell) => cell?.row instanceof Uint8Array);
    checkArgument("db.resolve", "a lock that `db.locks()` listed", lock, isLock);
    return (await resolveLock(context, lock)) === "standing" ? "standing" : "gone";
  }

  /**
   * Collects garbage now. First deletes all cells whose `ttlMs` has passed, whether or not their table
   * is due for a sweep. Then removes the versions that no snapshot within the retention can see.
   */
  async collect(options: CollectOptions = {}): Promise<CollectReport> {
    this.#writable("collect garbage");
    const { signal, onProgress } = known("db.collect", options);
    const before = {
      safepoint: await this.#context.safepoint.current(),
      locksResolved: 0,
      versionsDropped: 0,
    };
    const cellsExpired = await this.#expirer.expire({
      isDueOnly: false,
      signal,
      onProgress: ({ scanned, changed }) =>
        onProgress?.({ ...before, cellsSeen: scanned, cellsExpired: changed }),
    });
    const report = await this.#collector.collect({
      ...options,
      onProgress: onProgress && ((progress) => onProgress({ ...progress, cellsExpired })),
    });
    return { ...report, cellsExpired };
  }

  /**
   * Checks every invariant of the protocol that the store's contents can show. Resolves to an empty
   * array if the database is sound.
   */
  async check(options: CheckOptions = {}): Promise<readonly Problem[]> {
    const context = this.#open();
    const { maxProblems = maxListed } = known("db.check", options);
    const found = await check(context, await this.cellTables(), { ...options, maxProblems });
    // Damaged pages would make every other result meaningless.
    if (found.some(({ invariant }) => invariant === "stored")) return found;
    return [...found, ...(await strayRecords(context))].slice(0, maxProblems);
  }

  /**
   * Returns the records of processes that every reader ignores. A reader ignores a record that it
   * cannot read, and one whose expiry is so late that only a wrong clock can have written it.
   *
   * @internal
   */
  async strayRecords(): Promise<readonly StrayRecord[]> {
    return strayRecords(this.#open());
  }

  /** Counters and distributions since this process opened the database. */
  get metrics(): MetricsSnapshot {
    return this.#metrics.snapshot();
  }

  /** Calls `listener` for each event of this name until the caller calls the returned function. */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    checkListener(name, listener);
    return this.#context.events.on(name, listener);
  }

  /**
   * Returns a cell in the form that messages and commands use.
   *
   * @internal
   */
  describeCell({ table, row, column }: CellAddress): { table: string; row: string; column: string } {
    return { table, row: this.#context.schemas.showRow(table, row), column: showColumn(column) };
  }

  /**
   * Returns the tables that the database has recorded, by name. They work without the module that
   * declares them.
   */
  async tables(): Promise<ReadonlyMap<string, AnyTable>> {
    this.#open();
    const view = await this.#registry.fresh();
    return new Map([...view.tables.keys()].map((name) => [name, view.table(name)!]));
  }

  /** Returns the observers that the database has recorded, by name. */
  async observers(): Promise<ReadonlyMap<string, ObserverRecord>> {
    this.#open();
    const view = await this.#registry.fresh();
    return new Map([...view.observers].map(([name, observer]) => [name, observer.record]));
  }

  /**
   * Returns the state of the database: statistics of the store, the safepoint, the processes with
   * workers, and the coordinator.
   */
  async status(): Promise<DatabaseStatus> {
    return statusOf(this.#open(), this.#registry, this.#sessions, this.#coordination);
  }

  /** Whether {@link close} was called. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Checks whether the store and the coordinator answer. Health probes use it. Rejects only with a
   * `ClosedError`, after {@link close}.
   */
  async reach(options: ReachOptions = {}): Promise<DatabaseReach> {
    const timeoutMs = checkTimeout(known("db.reach", options).timeoutMs) ?? 1_000;
    const { store, environment } = this.#open();
    return await reachOf({ store, environment, timeoutMs, coordination: this.#coordination });
  }

  /**
   * Returns all tables with transactional cells, in the order in which {@link locks} lists them.
   *
   * @internal
   */
  async cellTables(): Promise<readonly string[]> {
    const view = await this.#registry.fresh();
    const feeds = view.feedRecords.size === 0 ? [] : [feedTable];
    // The versions of a dropped table stay until collection removes them.
    const dropped = [...view.droppedRecords]
      .filter(([, names]) => names.has(wholeTable))
      .map(([name]) => name);
    return [...view.tables.keys(), ...dropped, systemTable, parkedTable, ...feeds];
  }

  /**
   * Ends background work, waits for calls in progress, and frees all resources. A second call waits
   * for the first. An observer must not await this call. The call waits for the observer's run,
   * which would then last until its `timeoutMs`.
   *
   * @throws the first failure. The remaining steps of closing still run.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const steps = [
      () => this.#begun.end(new ClosedError("The database was closed before the transaction was committed.")),
      () => this.#followers.close(),
      () => this.#stopMoving.abort(),
      () => this.#workers.close(),
      () => Promise.all(this.#moving),
      () => this.#expirer.stop(),
      () => this.#collector.stop(),
      () => this.#publisher?.stop(),
      () => this.#context.background.settled(),
      () => this.#sessions.close(),
      () => this.#coordination?.close(),
      () => this.#context.store.close(),
    ];
    const errors: unknown[] = [];
    // A failed step must not keep the others from freeing their resources.
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
