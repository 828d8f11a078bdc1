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

/** Problems that {@link Database.check} lists, unless it is told another number. */
const maxListed = 1_000;

/** What a database is made of. */
export interface DatabaseParts {
  readonly context: TransactionContext;
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly settings: Settings;
  /** What this process hosts. */
  readonly observers: readonly Observer[];
  /** Its place in a cluster with a coordinator; closed with the database. */
  readonly coordination?: Coordination | undefined;
}

/** What {@link Database.status} tells. */
export interface DatabaseStatus {
  /** Kind and place of the store. */
  readonly store: string;
  /** What the store counts of itself: bytes, entries and the like; and the requests for timestamps, where they are sent. */
  readonly statistics: Readonly<Record<string, number>>;
  readonly commit: "one-phase" | "two-phase";
  readonly retentionMs: number;
  readonly latestTimestamp: number;
  /** Snapshots below it are refused; 0 before the first collection. */
  readonly safepoint: number;
  readonly safepointAgeMs: number | undefined;
  /** Processes with workers, by session. */
  readonly sessions: ReadonlyMap<string, SessionRecord>;
  /** The cluster's coordinator; undefined where there never was one. */
  readonly coordinator: CoordinatorStatus | undefined;
}

/** An open database. Made by `open`; to be closed, or held with `await using`. */
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
  /** Transactions that were begun by hand and have not ended. */
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

  /** Before anything is done that writes. */
  #writable(doing: string): TransactionContext {
    const context = this.#open();
    if (!this.#readOnly) return context;
    throw new StoreError(
      `The database ${context.store.description} was opened readOnly; it cannot ${doing}. Open it without \`readOnly\`.`,
    );
  }

  /**
   * Runs `run` in a transaction and commits it; runs it again where it conflicts, with backoff. Resolves to what `run`
   * returned when the commit is durable.
   *
   * @throws what `run` throws; ConflictError after the last retry; TimeoutError and AbortedError when given up.
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

  /** A transaction to drive by hand: `await tx.commit()` or `await tx.rollback()`, or hold it with `await using`. */
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
      // Whoever forgets it keeps nothing from collection beyond its deadline.
      limit.whenOver((reason) => core.fence(reason));
      return new Transaction(core);
    } catch (error) {
      limit.end();
      throw error;
    }
  }

  /** A read-only view: of now, or of a moment within the retention. To be closed, or held with `await using`. */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    return takeSnapshot(this.#open(), known("db.snapshot", options));
  }

  /**
   * Starts a worker: runs the observers given to `open`, or some of them, until it is stopped. Changes that this process
   * commits are run at once; those of other processes are found by scanning, well within a second.
   *
   * @example
   * await using worker = db.work({ concurrency: 32 });
   */
  work(options: WorkOptions = {}): Worker {
    this.#writable("run observers");
    return this.#workers.work(known("db.work", options));
  }

  /**
   * Works until nothing is left to do: every change committed before the call is handled, and all that those caused, here
   * or by another process. Waits for changes that are tried again, and not for parked ones.
   *
   * @throws ObserverError where changes wait for observers that no live process runs.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    this.#writable("run observers");
    await this.#workers.drain(known("db.drain", options));
  }

  /**
   * Resolves when nothing is left to do, as {@link drain} does, but works itself only if workers stand here.
   *
   * @throws ObserverError if changes wait for observers that no live process runs. One that shows no signs of life is waited for for
   * 15 seconds.
   */
  async idle(options: DrainOptions = {}): Promise<void> {
    this.#open();
    await this.#workers.idle(known("db.idle", options));
  }

  /** The changes that observers are due on. */
  pending(options: PendingOptions = {}): AsyncIterable<PendingChange> {
    this.#open();
    return listPending(this.#registry, known("db.pending", options));
  }

  /**
   * The changes of one row that observers are due on.
   *
   * @internal
   */
  async pendingOf<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<readonly PendingChange[]> {
    this.#open();
    return pendingOfRow(this.#registry, table[definition].name, encodeRow(table[definition], row));
  }

  /**
   * Runs of observers that are under way in this process, and the rows that it has claimed where a cluster gives out claims.
   *
   * @internal
   */
  get activity(): { readonly running: number; readonly claims: number | undefined } {
    return { running: this.#workers.running, claims: this.#workers.claims?.size };
  }

  /** The changes that were given up on after their last attempt. */
  parked(options: ParkedOptions = {}): AsyncIterable<ParkedChange> {
    this.#open();
    return listParked(this.#registry, known("db.parked", options));
  }

  /** Makes a parked change due again. False where it is parked no more. */
  async retry(parked: ObservedCell): Promise<boolean> {
    this.#writable("retry a change");
    return retryParked(this.#registry, parked);
  }

  /** Counts a parked change as handled. False where it is parked no more. */
  async discard(parked: ObservedCell): Promise<boolean> {
    this.#writable("discard a change");
    return discardParked(this.#registry, parked);
  }

  /**
   * Makes an observer due on the cells that stand: for a new observer, or one of a new version. Resumes where an earlier
   * call was interrupted.
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
   * Makes observers due on cells, whether they are registered yet or not.
   *
   * @internal
   */
  async markDue(due: readonly DueCell[], signal?: AbortSignal): Promise<void> {
    this.#open();
    await markDue(this.#registry, due, signal);
  }

  /** Forgets an observer, with its hints, acknowledgments and parked changes. Can be repeated where it was interrupted. */
  async unregister(observer: string, options: UnregisterOptions = {}): Promise<void> {
    this.#writable("unregister an observer");
    known("db.unregister", options);
    this.#workers.forget(observer);
    await unregister(this.#registry, observer, options);
  }

  /** The committed versions of a cell that collection has left, newest first. */
  async history<V, K>(column: Column<V, K>, row: NoInfer<K>): Promise<readonly HistoryEntry<V>[]> {
    return history(this.#open(), column, row);
  }

  /** What the protocol keeps of a row: locks, write records, values, statuses, acknowledgments; decoded. */
  async inspect<T extends AnyTable>(table: T, row: KeyOf<T>): Promise<readonly InspectedColumn[]> {
    const context = this.#open();
    if (!isTable(table)) throw new SchemaError("`inspect` takes a table made with `table(name, columns)`.");
    return inspectRow(context, table[definition].name, encodeRow(table[definition], row));
  }

  /** Every lock that stands. */
  async *locks(options: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<LockInfo> {
    yield* listLocks(this.#open(), await this.#tables(), options.signal);
  }

  /** Resolves a lock by what stands at its primary: rolls it forward or back, unless its owner lives. */
  async resolve(lock: LockInfo): Promise<"gone" | "standing"> {
    return (await resolveLock(this.#writable("resolve a lock"), lock)) === "standing" ? "standing" : "gone";
  }

  /** Collects garbage now: versions that no snapshot within the retention can see. */
  async collect(options: CollectOptions = {}): Promise<CollectReport> {
    this.#writable("collect garbage");
    return this.#collector.collect(known("db.collect", options));
  }

  /** Checks every invariant of the protocol that a store shows. Empty when it is sound. */
  async check(options: CheckOptions = {}): Promise<readonly Problem[]> {
    const context = this.#open();
    const { maxProblems = maxListed } = known("db.check", options);
    const found = await check(context, await this.#tables(), { ...options, maxProblems });
    // What is damaged answers nothing.
    if (found.some(({ invariant }) => invariant === "stored")) return found;
    return [...found, ...(await strayRecords(context))].slice(0, maxProblems);
  }

  /**
   * The records of processes that cannot be read, or say that they count for longer than any does.
   *
   * @internal
   */
  async strayRecords(): Promise<readonly StrayRecord[]> {
    return strayRecords(this.#open());
  }

  /** Counters and distributions since the database was opened in this process. */
  get metrics(): MetricsSnapshot {
    return this.#metrics.snapshot();
  }

  /** Listens to an event until the returned function is called. */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    checkListener(name, listener);
    return this.#context.events.on(name, listener);
  }

  /**
   * A cell as messages and commands name it.
   *
   * @internal
   */
  describeCell({ table, row, column }: CellAddress): { table: string; row: string; column: string } {
    return { table, row: this.#context.schemas.showRow(table, row), column: showColumn(column) };
  }

  /** The tables that the database has recorded, usable without a module that declares them, by name. */
  async tables(): Promise<ReadonlyMap<string, AnyTable>> {
    this.#open();
    const view = await this.#registry.fresh();
    return new Map([...view.tables.keys()].map((name) => [name, view.table(name)!]));
  }

  /** The observers that the database has recorded, by name. */
  async observers(): Promise<ReadonlyMap<string, ObserverRecord>> {
    this.#open();
    const view = await this.#registry.fresh();
    return new Map([...view.observers].map(([name, observer]) => [name, observer.record]));
  }

  /** Where the database stands: what its store says of itself, the safepoint, the processes that work on it and their coordinator. */
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

  /** Asks the store and the coordinator for a sign of life, for probes. Rejects only with a `ClosedError`, after {@link close}. */
  async reach({ timeoutMs = 1_000 }: ReachOptions = {}): Promise<DatabaseReach> {
    const { store, environment } = this.#open();
    return await reachOf({ store, environment, timeoutMs, coordination: this.#coordination });
  }

  /** All tables with transactional cells. */
  async #tables(): Promise<readonly string[]> {
    const view = await this.#registry.fresh();
    return [...view.tables.keys(), systemTable, parkedTable];
  }

  /**
   * Ends what runs in the background, waits for what is under way, and frees everything. Harmless to repeat. A run of an observer
   * must not wait for it: it would wait for itself until its `timeoutMs`.
   *
   * @throws the first failure on the way, after which the rest was done all the same.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A transaction that was begun and forgotten: its deadline would keep the process alive. */
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
    // What one cannot free is no reason to hold the rest.
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
