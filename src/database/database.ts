import { ClosedError, SchemaError, StoreError } from "../errors/index.js";
import {
  checkListener,
  type EventListener,
  type EventName,
  Metrics,
  type MetricsSnapshot,
} from "../events/index.js";
import {
  type BackfillOptions,
  type BackfillReport,
  backfill,
  type DrainOptions,
  type DueCell,
  discardParked,
  isObserver,
  listParked,
  listPending,
  markDue,
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
  type SessionRecord,
  type Sessions,
  type UnregisterOptions,
  unregister,
  type Worker,
  WorkerPool,
  type WorkOptions,
} from "../observer/index.js";
import { type AnyTable, type Column, definition, encodeRow, isTable, type KeyOf } from "../schema/index.js";
import {
  type CellAddress,
  type CheckOptions,
  type CollectOptions,
  type CollectReport,
  CoreTransaction,
  check,
  checkTimeout,
  deadline,
  type HistoryEntry,
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
  Transaction,
  type TransactionContext,
  type TransactionOptions,
  type TransactOptions,
  transact,
} from "../transaction/index.js";
import { ActivePublisher } from "./active-publisher.js";
import { known } from "./call-options.js";
import { Collector } from "./collector.js";
import { type Coordination, type CoordinatorStatus, coordinatorStatus } from "./coordination.js";
import type { Settings } from "./options.js";
import { type DatabaseReach, type ReachOptions, reachOf } from "./reach.js";
import { type SnapshotOptions, takeSnapshot } from "./snapshots.js";
import { type StrayRecord, strayRecords } from "./stray-records.js";

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
  /** The connection to the cluster's coordinator, if there is one. The database closes it. */
  readonly coordination?: Coordination | undefined;
}

/** The result of {@link Database.status}. */
export interface DatabaseStatus {
  /** Kind and location of the store. */
  readonly store: string;
  /**
   * Counters of the store, such as bytes and entries. If a coordinator assigns timestamps, also the
   * requests for them.
   */
  readonly statistics: Readonly<Record<string, number>>;
  readonly commit: "one-phase" | "two-phase";
  readonly retentionMs: number;
  readonly latestTimestamp: number;
  /** Timestamp below which the database refuses snapshots. 0 before the first collection. */
  readonly safepoint: number;
  readonly safepointAgeMs: number | undefined;
  /** The processes that have workers, by session. */
  readonly sessions: ReadonlyMap<string, SessionRecord>;
  /** The cluster's coordinator. Undefined if there never was one. */
  readonly coordinator: CoordinatorStatus | undefined;
}

/**
 * An open database. `open` creates it. Close it with {@link close}, or hold it with `await using`.
 */
export class Database {
  readonly #context: TransactionContext;
  readonly #registry: Registry;
  readonly #sessions: Sessions;
  readonly #collector: Collector;
  readonly #publisher: ActivePublisher | undefined;
  readonly #readOnly: boolean;
  readonly #metrics: Metrics;
  readonly #workers: WorkerPool;
  readonly #coordination: Coordination | undefined;
  /** Transactions that {@link begin} started and that have not ended. */
  readonly #begun = new Set<CoreTransaction>();
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: DatabaseParts) {
    const { context, registry, sessions, settings, observers } = parts;
    this.#coordination = parts.coordination;
    this.#context = context;
    this.#registry = registry;
    this.#sessions = sessions;
    this.#metrics = new Metrics(context.events);
    this.#workers = new WorkerPool({ registry, sessions, observers });
    this.#readOnly = settings.readOnly;
    this.#publisher = settings.readOnly ? undefined : new ActivePublisher(context, context.liveness.session);
    this.#collector = new Collector(
      context,
      () => this.#tables(),
      settings.readOnly ? 0 : settings.collectEveryMs,
    );
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
      `The database ${context.store.description} was opened readOnly; it cannot ${doing}. Open it without \`readOnly\`.`,
    );
  }

  /**
   * Runs `run` in a transaction and commits it. If the transaction conflicts, runs `run` again
   * after a backoff, so `run` must be free of other side effects. Resolves to the result of `run`
   * when the commit is durable.
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
   * Starts a transaction that the caller ends with `await tx.commit()` or `await tx.rollback()`, or
   * holds with `await using`.
   */
  async begin(options: TransactionOptions = {}): Promise<Transaction> {
    const context = this.#writable("begin transactions");
    known("db.begin", options);
    const limit = deadline(
      context.environment,
      options.signal,
      checkTimeout(options.timeoutMs),
      "The transaction",
    );
    const { isolation, label } = options;
    try {
      const core = await CoreTransaction.begin(context, {
        isolation,
        label,
        signal: limit.signal,
        onEnd: () => {
          limit.end();
          this.#begun.delete(core);
        },
      });
      this.#begun.add(core);
      // A forgotten transaction holds back garbage collection only until its deadline.
      limit.whenOver((reason) => core.fence(reason));
      return new Transaction(core);
    } catch (error) {
      limit.end();
      throw error;
    }
  }

  /**
   * Opens a read-only view of the database, as of now or of a moment within the retention. Close
   * it, or hold it with `await using`.
   */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    return takeSnapshot(this.#open(), known("db.snapshot", options));
  }

  /**
   * Starts a worker. It runs the observers given to `open`, or some of them, until it is stopped.
   * It runs changes that this process commits at once. It finds the changes of other processes by
   * scanning, well within a second.
   *
   * @example
   * await using worker = db.work({ concurrency: 32 });
   */
  work(options: WorkOptions = {}): Worker {
    this.#writable("run observers");
    return this.#workers.work(known("db.work", options));
  }

  /**
   * Runs observers until nothing is left to do. That covers every change committed before the call,
   * and all changes that those cause, in this process or another. Waits for changes that will be
   * retried, but not for parked ones.
   *
   * @throws ObserverError if changes wait for observers that no live process runs.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    this.#writable("run observers");
    await this.#workers.drain(known("db.drain", options));
  }

  /**
   * Resolves when nothing is left to do, as {@link drain} does. It runs no observers itself: the
   * workers of this or other processes do.
   *
   * @throws ObserverError if changes wait for observers that no live process runs. A process counts
   * as live until it has sent no heartbeat for 15 s.
   */
  async idle(options: DrainOptions = {}): Promise<void> {
    this.#open();
    await this.#workers.idle(known("db.idle", options));
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
   * Count of the observer runs in progress in this process, and of the rows that it has claimed.
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
   * Makes observers due on cells, even if the observers are not registered yet.
   *
   * @internal
   */
  async markDue(due: readonly DueCell[], signal?: AbortSignal): Promise<void> {
    this.#open();
    await markDue(this.#registry, due, signal);
  }

  /**
   * Removes an observer with its hints, acknowledgments and parked changes. If the call is
   * interrupted, repeat it.
   */
  async unregister(observer: string, options: UnregisterOptions = {}): Promise<void> {
    this.#writable("unregister an observer");
    known("db.unregister", options);
    this.#workers.forget(observer);
    await unregister(this.#registry, observer, options);
  }

  /**
   * Returns the committed versions of a cell, newest first. Garbage collection may have removed
   * older ones.
   */
  async history<V, K>(column: Column<V, K>, row: NoInfer<K>): Promise<readonly HistoryEntry<V>[]> {
    return history(this.#open(), column, row);
  }

  /**
   * Returns the protocol's cells of a row, decoded: locks, write records, values, statuses and
   * acknowledgments.
   */
  async inspect<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<readonly InspectedColumn[]> {
    const context = this.#open();
    if (!isTable(table)) throw new SchemaError("`inspect` takes a table made with `table(name, columns)`.");
    return inspectRow(context, table[definition].name, encodeRow(table[definition], row));
  }

  /** Yields every lock in the database. */
  async *locks(options: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<LockInfo> {
    yield* listLocks(this.#open(), await this.#tables(), options.signal);
  }

  /**
   * Resolves a lock. Rolls it forward or back according to its primary lock, unless its owner is
   * alive: then the result is `"standing"`.
   */
  async resolve(lock: LockInfo): Promise<"gone" | "standing"> {
    return (await resolveLock(this.#writable("resolve a lock"), lock)) === "standing" ? "standing" : "gone";
  }

  /** Collects garbage now: removes the versions that no snapshot within the retention can see. */
  async collect(options: CollectOptions = {}): Promise<CollectReport> {
    this.#writable("collect garbage");
    return this.#collector.collect(known("db.collect", options));
  }

  /**
   * Checks every invariant of the protocol that the store's contents can show. Resolves to an empty
   * array if the database is sound.
   */
  async check(options: CheckOptions = {}): Promise<readonly Problem[]> {
    const context = this.#open();
    const { maxProblems = maxListed } = known("db.check", options);
    const found = await check(context, await this.#tables(), { ...options, maxProblems });
    // Damaged pages would make every other result meaningless.
    if (found.some(({ invariant }) => invariant === "stored")) return found;
    return [...found, ...(await strayRecords(context))].slice(0, maxProblems);
  }

  /**
   * Returns the records of processes that cannot be read, or that expire later than any process
   * writes.
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
    const { store, safepoint, oracle, environment } = this.#open();
    const at = await safepoint.current();
    return {
      store: store.description,
      statistics: {
        ...(await store.statistics()),
        ...(oracle.requests === undefined ? {} : { timestampRequests: oracle.requests }),
      },
      commit: this.#context.settings.commit,
      retentionMs: this.#context.settings.retentionMs,
      latestTimestamp: await oracle.latest(),
      safepoint: at,
      safepointAgeMs: at === 0 ? undefined : Math.max(0, environment.now() - at / 1_000),
      sessions: await this.#sessions.list(),
      coordinator: await (this.#coordination?.status() ?? coordinatorStatus(store, environment)),
    };
  }

  /** Whether {@link close} was called. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Asks the store and the coordinator for a sign of life. Health probes use it. Rejects only with
   * a `ClosedError`, after {@link close}.
   */
  async reach({ timeoutMs = 1_000 }: ReachOptions = {}): Promise<DatabaseReach> {
    const { store, environment } = this.#open();
    return await reachOf({ store, environment, timeoutMs, coordination: this.#coordination });
  }

  /** Returns all tables with transactional cells. */
  async #tables(): Promise<readonly string[]> {
    const view = await this.#registry.fresh();
    return [...view.tables.keys(), systemTable, parkedTable];
  }

  /**
   * Ends background work, waits for calls in progress, and frees all resources. A second call waits
   * for the first. An observer must not await it: the call would wait for that observer's run until
   * its `timeoutMs`.
   *
   * @throws the first failure. The remaining steps run all the same.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Ends the transactions of {@link begin} that never ended. Their deadline timers would keep the
   * process alive.
   */
  #endBegun(): void {
    const error = new ClosedError("The database was closed before the transaction was committed.");
    for (const core of this.#begun) core.fence(error);
  }

  async #close(): Promise<void> {
    const steps = [
      () => this.#endBegun(),
      () => this.#workers.close(),
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
