import {
  backoffDelay,
  type ClockReading,
  type Environment,
  elapsedMs,
  longAgo,
  OneAtATime,
  readClocks,
  sleep,
} from "../../environment/index.js";
import {
  ConflictError,
  InternalError,
  isRetryable,
  PercolatorError,
  SchemaError,
} from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { type AnyTable, definition, type Feed, isTable, type TableDefinition } from "../../schema/index.js";
import { isRemote, type MaybePromise, type RowPage, type RowStore } from "../../store/index.js";
import {
  type CellAddress,
  CoreTransaction,
  type HandledCell,
  type Hint,
  type Notifications,
  type Schemas,
  SnapshotReader,
  showRow,
  type TransactionContext,
} from "../../transaction/index.js";
import type { Observer } from "../observer.js";
import { encodeJson } from "../stored-json.js";
import {
  feedCell,
  feedRetentionCell,
  generationCell,
  observerCell,
  type StoredFeed,
  type StoredObserver,
  type StoredRetention,
  type StoredVersion,
  tableCell,
  versionCell,
} from "./cells.js";
import { RecentCommits } from "./recent-commits.js";
import { storedFeed } from "./registered-feed.js";
import {
  type Declarations,
  distinctFeeds,
  distinctObservers,
  planRegistration,
  type RegistrationPlan,
} from "./registration.js";
import { type RegistryView, readRegistry } from "./view.js";

export interface RegistryOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /**
   * How long a view of the registry counts as fresh on a store without atomic batches, in
   * milliseconds. Default: 1,000.
   */
  readonly cacheMs?: number | undefined;
  /**
   * A view that another registry has read from the same store, so that this one need not read it.
   * Default: none.
   */
  readonly view?: RegistryView | undefined;
  /** Compares declarations with the registry, but records nothing. Default: false. */
  readonly readOnly?: boolean | undefined;
}

type Change = (tx: CoreTransaction, view: RegistryView) => Promise<boolean>;

const maxAttempts = 100;
/**
 * The age from which a registration counts as known to all processes, in microseconds of the
 * oracle: a minute. The oracle may be ahead of the clock, but by far less than a minute, even after
 * a change of leaders.
 */
const longKnownUs = 60_000_000;
const retrying = { initialMs: 2, maximumMs: 200 };
const readGeneration = {
  table: generationCell.table,
  row: generationCell.row,
  columns: [{ exact: generationCell.column }],
  at: Number.POSITIVE_INFINITY,
};
const nothing = new Uint8Array(0);

/**
 * The database's record of its tables and of its observers. The store holds it, transactions change
 * it, and all processes share it. Call {@link attach} before using it.
 */
export class Registry implements Schemas, Notifications {
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly cacheMs: number;
  /** The last commits of this process. */
  readonly recent = new RecentCommits();
  readonly #readOnly: boolean;
  /** By the name of the table. */
  readonly #known = new Map<string, WeakSet<TableDefinition>>();
  readonly #listeners = new Set<(hints: readonly Hint[], commitTimestamp: number) => void>();
  #context: TransactionContext | undefined;
  #view: RegistryView | undefined;
  #readAt = longAgo;
  /** A read in progress, which all callers share meanwhile. */
  #asked: { readonly at: ClockReading; readonly answer: Promise<RegistryView> } | undefined;
  #lastKnown: TableDefinition | undefined;
  #epoch = 0;
  readonly #released = new Map<string, Map<string, number>>();
  /**
   * Runs the changes of this process one after another. Otherwise they would conflict with each
   * other.
   */
  readonly #changes = new OneAtATime();
  /** When this process first saw each observer and feed in its current record. Monotonic time. */
  readonly #noticed = new Map<string, { readonly edition: string; readonly noticedAt: number }>();

  constructor(options: RegistryOptions) {
    this.#store = options.store;
    this.#environment = options.environment;
    this.#readOnly = options.readOnly ?? false;
    if (options.view !== undefined) this.#keep(options.view);
    this.cacheMs = isRemote(options.store) ? (options.cacheMs ?? 1_000) : 0;
  }

  /**
   * Sets the context of the transactions. This is a separate step after the constructor, because
   * transactions and the registry need each other.
   */
  attach(context: TransactionContext): void {
    this.#context = context;
  }

  get context(): TransactionContext {
    if (this.#context === undefined) throw new InternalError("The registry has no context yet.");
    return this.#context;
  }

  known(table: TableDefinition): boolean {
    if (table === this.#lastKnown) return true;
    if (this.#known.get(table.name)?.has(table) !== true) return false;
    this.#lastKnown = table;
    return true;
  }

  async record(tables: readonly TableDefinition[], signal?: AbortSignal): Promise<void> {
    await this.#register({ tables, observers: [], feeds: [] }, signal);
  }

  showRow(table: string, row: Uint8Array): string {
    return this.#view?.showRow(table, row) ?? showRow(row);
  }

  keptWith(table: string, column: Uint8Array): string | undefined {
    return this.#view?.keptWith(table, column);
  }

  get epoch(): number {
    return this.#epoch;
  }

  current(): MaybePromise<RegistryView> {
    return this.#view ?? this.#load();
  }

  fresh(): MaybePromise<RegistryView> {
    if (this.#view === undefined) return this.#load();
    if (isRemote(this.#store)) return this.#ageMs < this.cacheMs ? this.#view : this.#recent();
    const page = this.#store.readRow(readGeneration);
    if (page instanceof Promise) return page.then((answer) => this.#unlessChanged(answer));
    return this.#unlessChanged(page);
  }

  refresh(): void {
    if (this.#view === undefined || !isRemote(this.#store)) return;
    if (this.#ageMs < this.cacheMs / 2) return;
    this.#recent().catch(() => undefined);
  }

  get #ageMs(): number {
    return elapsedMs(this.#readAt, readClocks(this.#environment));
  }

  /**
   * Reads the registry, or joins a read in progress. It joins only a read that began less than
   * `cacheMs` ago, because a result may be as old as the beginning of its read.
   */
  #recent(): Promise<RegistryView> {
    const at = readClocks(this.#environment);
    if (this.#asked !== undefined && elapsedMs(this.#asked.at, at) < this.cacheMs) return this.#asked.answer;
    const asked = { at, answer: this.#load() };
    this.#asked = asked;
    const end = () => {
      if (this.#asked === asked) this.#asked = undefined;
    };
    asked.answer.then(end, end);
    return asked.answer;
  }

  /** Reads the registry again, however old the known view is. */
  reload(): Promise<RegistryView> {
    return this.#load();
  }

  /**
   * Resolves when every process knows a registered observer in its current version. Processes on a
   * remote store cache a view for `cacheMs`.
   *
   * The wait counts from the time at which this process first saw that version, because wall clocks
   * differ and can be changed. It lasts twice `cacheMs`, because clocks run at different rates.
   */
  async untilKnown(name: string, signal: AbortSignal | undefined, doing: string): Promise<void> {
    const noticedAt = this.#noticed.get(name)?.noticedAt;
    const knownForMs = noticedAt === undefined ? 0 : this.#environment.monotonic() - noticedAt;
    const waitMs = 2 * this.cacheMs - knownForMs;
    if (waitMs > 0) await sleep(this.#environment, waitMs, signal, doing);
  }

  /**
   * Resolves when each commit that begins later writes hints and entries for these observers and
   * feeds. On a store with atomic batches that is immediate: a commit in one phase checks the
   * registry, and one in two phases reads it again. On other stores it waits as {@link untilKnown}
   * does for those that were recorded recently, by this or another process.
   */
  async untilAllKnown(observers: readonly Observer[], feeds: readonly Feed[] = []): Promise<void> {
    if (this.#store.atomic !== undefined) return;
    const view = await this.current();
    for (const { name } of observers) {
      const { since } = view.observers.get(name)?.record ?? { since: view.at };
      if (view.at - since > longKnownUs) continue;
      await this.untilKnown(name, undefined, `Registering observer "${name}"`);
    }
    for (const { name } of feeds) await this.untilFeedKnown(name, view);
  }

  /**
   * Resolves when every process knows what was dropped before the call, so that no later commit
   * writes there.
   */
  async untilAllDropped(signal: AbortSignal | undefined): Promise<void> {
    if (this.cacheMs === 0) return;
    await sleep(this.#environment, 2 * this.cacheMs, signal, "Dropping");
  }

  /**
   * Resolves when every process knows a feed that was recorded or removed. On a store with atomic
   * batches that is immediate, because each commit that may leave an entry looks at the current
   * registry.
   */
  async untilFeedKnown(name: string, view: RegistryView, signal?: AbortSignal): Promise<void> {
    if (this.#store.atomic !== undefined) return;
    const { since } = view.feedRecords.get(name)?.record ?? { since: view.at };
    if (view.at - since > longKnownUs) return;
    const doing = `Recording or removing feed "${name}"`;
    await this.untilKnown(noticedFeed(name), signal, doing);
    // A timer may end early, and timestamps may be a little ahead of the clock. A reader that begins now
    // must be able to follow the feed from now on. A clock that stands still is not waited for.
    for (let attempt = 0; attempt < 3; attempt++) {
      const missingMs = (this.feedCompleteFrom(since) - (await currentTimestamp(this.context))) / 1_000;
      if (missingMs <= 0) return;
      await sleep(this.#environment, Math.ceil(missingMs), signal, doing);
    }
  }

  /**
   * The timestamp above which every commit leaves its entry in a feed that was recorded at `since`
   * (protocol §3.5).
   */
  feedCompleteFrom(since: number): number {
    return this.#store.atomic !== undefined ? since : since + 2 * this.cacheMs * 1_000;
  }

  /** Records a leased feed, unless it is recorded. */
  async recordLeasedFeed(
    name: string,
    feed: StoredFeed,
    retention: StoredRetention,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.change(async (tx, view) => {
      if (view.feedRecords.has(name)) return false;
      tx.write({ ...feedCell(name), value: encodeJson(feed) });
      tx.write({ ...feedRetentionCell(name), value: encodeJson(retention) });
      return true;
    }, signal);
  }

  /**
   * Removes the record of a feed. Transactions then leave no more entries in it. Returns a timestamp
   * at which it is not recorded: the feed may be recorded again soon after it.
   */
  forgetFeed(name: string, signal?: AbortSignal): Promise<number> {
    return this.change(async (tx, view) => {
      if (!view.feedRecords.has(name)) return false;
      for (const cell of [feedCell(name), feedRetentionCell(name)]) tx.write({ ...cell, value: undefined });
      return true;
    }, signal);
  }

  #unlessChanged(page: RowPage): MaybePromise<RegistryView> {
    const generation = page.cells[0]?.write?.timestamp ?? 0;
    const view = this.#view;
    return view !== undefined && view.generation === generation ? view : this.#load();
  }

  committed(hints: readonly Hint[], commitTimestamp: number, handled: readonly HandledCell[]): void {
    this.recent.add(hints, commitTimestamp, handled);
    if (hints.length === 0) return;
    const { events } = this.context;
    if (events.hasListeners("hints")) {
      const observers = [...new Set(hints.map((hint) => hint.observer))];
      events.emit("hints", { count: hints.length, commitTimestamp, observers });
    }
    for (const listener of this.#listeners) listener(hints, commitTimestamp);
  }

  /**
   * Calls `listener` after each commit of this process that left hints, until the returned function
   * is called.
   */
  onCommitted(listener: (hints: readonly Hint[], commitTimestamp: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Records tables, and registers observers with their tables. Writes nothing if all of them are
   * recorded already.
   *
   * @throws SchemaError if a table contradicts the registry. Nothing was changed.
   * @throws ObserverError if an observer contradicts it, or two have the same name. Nothing was
   * changed.
   */
  async register(
    tables: readonly AnyTable[],
    observers: readonly Observer[],
    feeds: readonly Feed[] = [],
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#register(declarationsOf(tables, observers, feeds), signal);
  }

  /** Throws as {@link register} does, and changes nothing. */
  async compare(tables: readonly AnyTable[], observers: readonly Observer[]): Promise<void> {
    planRegistration(await this.fresh(), declarationsOf(tables, observers, []));
  }

  async #register(declared: Declarations, signal: AbortSignal | undefined): Promise<void> {
    const distinct = [...new Set(declared.tables)];
    const planned = (view: RegistryView) => planRegistration(view, { ...declared, tables: distinct });
    const isRecorded = (view: RegistryView) => isEmpty(planned(view));
    if (!isRecorded(await this.fresh())) {
      await this.#changes.run(
        async () => {
          // A read-only registry has now compared the declarations. It records nothing.
          if (this.#readOnly) return;
          // An earlier change of this process may have recorded the same declarations.
          if (isRecorded(await this.current())) return;
          await this.#change(async (tx, view) => {
            const plan = planned(view);
            this.#write(tx, plan);
            return !isEmpty(plan);
          }, signal);
        },
        signal,
        "Recording tables and observers",
      );
    }
    for (const table of distinct) {
      const known = this.#known.get(table.name) ?? new WeakSet();
      this.#known.set(table.name, known.add(table));
    }
  }

  #write(tx: CoreTransaction, plan: RegistrationPlan): void {
    for (const table of plan.tables) tx.write({ ...tableCell(table.name), value: encodeJson(table) });
    for (const observer of plan.observers) {
      const { name, target, version } = observer;
      if (plan.added.has(observer)) {
        const stored: StoredObserver = {
          table: target.table.name,
          column: target.name,
          kind: target.kind,
        };
        tx.write({ ...observerCell(name), value: encodeJson(stored) });
      }
      const stored: StoredVersion = { version, recordedAt: this.#environment.now() };
      tx.write({ ...versionCell(name), value: encodeJson(stored) });
    }
    for (const feed of plan.feeds) {
      const { name, retentionMs } = feed;
      if (plan.added.has(feed)) tx.write({ ...feedCell(name), value: encodeJson(storedFeed(feed)) });
      const stored: StoredRetention = { retentionMs };
      tx.write({ ...feedRetentionCell(name), value: encodeJson(stored) });
    }
  }

  /**
   * Changes the registry in one transaction. `run` gets the current view, and returns whether it
   * wrote something. If so, this method also writes the generation. If two processes change the
   * registry at the same time, one of them therefore conflicts and runs again. Changes of one
   * process run one after another. Returns the commit timestamp, or that of the view if `run` wrote
   * nothing.
   */
  change(run: Change, signal?: AbortSignal): Promise<number> {
    return this.#changes.run(() => this.#change(run, signal), signal, "A change of the registry");
  }

  async #change(run: Change, signal: AbortSignal | undefined): Promise<number> {
    const at = await this.retrying(async () => {
      const tx = await this.systemTransaction("registry", signal);
      try {
        const changed = await run(tx, await readRegistry(tx.reader));
        if (changed) tx.write({ ...generationCell, value: nothing });
        await tx.commit();
        // The next caller must see the change, even if this store's views are cached.
        if (changed) {
          this.#readAt = longAgo;
          this.#asked = undefined;
        }
        return tx.commitTimestamp ?? tx.startTimestamp;
      } finally {
        tx.rollback();
      }
    }, signal);
    await this.#load();
    return at;
  }

  /** Begins a transaction on the system's own cells. */
  async systemTransaction(label: string, signal?: AbortSignal): Promise<CoreTransaction> {
    return CoreTransaction.begin(this.context, { system: true, label, signal });
  }

  /** Repeats `run`, with backoff, while it rejects with a retryable error such as a conflict. */
  async retrying<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (!isRetryable(error) || attempt >= maxAttempts) throw error;
        const waitMs = backoffDelay(this.#environment, retrying, attempt);
        await sleep(this.#environment, waitMs, signal, "A transaction that runs again");
      }
    }
  }

  /** Reads a system cell as a transaction sees it. */
  async read(tx: CoreTransaction, cell: CellAddress): Promise<Buffer | undefined> {
    const { cells } = await tx.reader.row(cell.table, cell.row, [{ exact: cell.column }]);
    return cells[0]?.value;
  }

  /** Reads the registry again. An older view never replaces a newer one. */
  async #load(): Promise<RegistryView> {
    const { active } = this.context;
    for (let attempt = 1; ; attempt++) {
      const readAt = readClocks(this.#environment);
      const at = await currentTimestamp(this.context);
      const unregister = active.register(at);
      try {
        const view = await readRegistry(new SnapshotReader(this.context, at));
        if (readAt.monotonic >= this.#readAt.monotonic) this.#readAt = readAt;
        if (this.#view === undefined || view.at > this.#view.at) this.#keep(view);
        return this.#view!;
      } catch (error) {
        const retryable = error instanceof ConflictError || isStale(error);
        if (!retryable || attempt >= maxAttempts) throw error;
      } finally {
        unregister();
      }
    }
  }

  /**
   * Keeps a new view. If nothing has changed, it keeps the old object, so that the guards stay the
   * same object too.
   */
  #keep(view: RegistryView): void {
    const before = this.#view;
    if (before?.generation === view.generation) return;
    this.#view = view;
    if (before !== undefined) this.#forget(view.releasedSince(before));
    if (this.#released.size > 0) view.keepOut(this.#released);
    this.#noteEditions(view);
  }

  /**
   * After a drop and a release, another program may have declared the name otherwise. So what this process declares is
   * compared with the record again at its next use.
   */
  #forget(names: ReturnType<RegistryView["releasedSince"]>): void {
    if (names.length === 0) return;
    this.#epoch++;
    this.#lastKnown = undefined;
    for (const { table, column } of names) {
      this.#known.delete(table);
      const released = this.#released.get(table) ?? new Map<string, number>();
      this.#released.set(table, released.set(column, this.#epoch));
    }
  }

  #noteEditions({ observers, feedRecords }: RegistryView): void {
    const noticedAt = this.#environment.monotonic();
    const editions = new Map<string, string>();
    for (const { name, record } of observers.values())
      editions.set(name, `${record.since}/${record.version}`);
    for (const { record } of feedRecords.values()) editions.set(noticedFeed(record.name), `${record.since}`);
    for (const name of this.#noticed.keys()) if (!editions.has(name)) this.#noticed.delete(name);
    for (const [name, edition] of editions) {
      if (this.#noticed.get(name)?.edition !== edition) this.#noticed.set(name, { edition, noticedAt });
    }
  }
}

/** The name of a feed among those of observers, which have no space. */
function noticedFeed(name: string): string {
  return `feed ${name}`;
}

function isEmpty(plan: RegistrationPlan): boolean {
  return plan.tables.length === 0 && plan.observers.length === 0 && plan.feeds.length === 0;
}

function isStale(error: unknown): boolean {
  return error instanceof PercolatorError && error.code === "STALE_SNAPSHOT";
}

function declarationsOf(
  tables: readonly AnyTable[],
  observers: readonly Observer[],
  feeds: readonly Feed[],
): Declarations {
  const distinct = distinctObservers(observers);
  const followed = distinctFeeds(feeds);
  const definitions = tables.map((table) => {
    if (isTable(table)) return table[definition];
    throw new SchemaError("`tables` takes tables that `table(name, columns)` returned.");
  });
  const used = [
    ...definitions,
    ...distinct.map((observer) => observer.target.table),
    ...followed.flatMap(({ columns }) => columns.map((column) => column.table)),
  ];
  return { tables: used, observers: distinct, feeds: followed };
}
