import { backoffDelay, type Environment, OneAtATime, sleep } from "../../environment/index.js";
import { ConflictError, InternalError, PercolatorError, SchemaError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { type AnyTable, definition, isTable, type TableDefinition } from "../../schema/index.js";
import { isRemote, type MaybePromise, type RowPage, type RowStore } from "../../store/index.js";
import {
  type CellAddress,
  CoreTransaction,
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
  generationCell,
  observerCell,
  type StoredObserver,
  type StoredVersion,
  tableCell,
  versionCell,
} from "./cells.js";
import { distinctObservers, planRegistration, type RegistrationPlan } from "./registration.js";
import { type RegistryView, readRegistry } from "./view.js";

export interface RegistryOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /**
   * How long what was read of the registry counts as new, in milliseconds, on a store without
   * atomic batches. Default: 1,000.
   */
  readonly cacheMs?: number | undefined;
  /** What another one has read of the same store, so that it need not be read again. */
  readonly view?: RegistryView | undefined;
  /** Compares declarations with what is recorded, and records nothing. Default: false. */
  readonly readOnly?: boolean | undefined;
}

type Change = (tx: CoreTransaction, view: RegistryView) => Promise<boolean>;

const maxAttempts = 100;
/**
 * An observer that was registered so long ago, in microseconds of the oracle, is known to all: a
 * minute. It exceeds by far what the oracle runs ahead of the clock by, or jumps ahead when its
 * leader changes.
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
 * The database's word on its tables and on who observes what: kept in the store, changed by
 * transactions, the same for all processes. Has to be given its context before it is used.
 */
export class Registry implements Schemas, Notifications {
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly cacheMs: number;
  readonly #readOnly: boolean;
  readonly #known = new WeakSet<TableDefinition>();
  readonly #listeners = new Set<(hints: readonly Hint[], commitTimestamp: number) => void>();
  #context: TransactionContext | undefined;
  #view: RegistryView | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  /** A read under way, for all who need one meanwhile. */
  #asked: { readonly at: number; readonly answer: Promise<RegistryView> } | undefined;
  #lastKnown: TableDefinition | undefined;
  /** Changes of one process would only conflict with each other. */
  readonly #changes = new OneAtATime();
  /** When this process first saw each observer as it is registered now. */
  readonly #noticed = new Map<string, { readonly edition: string; readonly noticedAt: number }>();

  constructor(options: RegistryOptions) {
    this.#store = options.store;
    this.#environment = options.environment;
    this.#readOnly = options.readOnly ?? false;
    if (options.view !== undefined) this.#keep(options.view);
    this.cacheMs = isRemote(options.store) ? (options.cacheMs ?? 1_000) : 0;
  }

  /** Transactions and their registry need each other: this is the second half of making them. */
  attach(context: TransactionContext): void {
    this.#context = context;
  }

  get context(): TransactionContext {
    if (this.#context === undefined) throw new InternalError("The registry has no context yet.");
    return this.#context;
  }

  known(table: TableDefinition): boolean {
    if (table === this.#lastKnown) return true;
    if (!this.#known.has(table)) return false;
    this.#lastKnown = table;
    return true;
  }

  async record(tables: readonly TableDefinition[], signal?: AbortSignal): Promise<void> {
    await this.#register(tables, [], signal);
  }

  showRow(table: string, row: Uint8Array): string {
    const bound = this.#view?.table(table);
    if (bound === undefined) return showRow(row);
    const { key } = bound[definition];
    try {
      return key.format(key.decode(row));
    } catch {
      // Damaged: the message in which it is shown says so.
      return showRow(row);
    }
  }

  current(): MaybePromise<RegistryView> {
    return this.#view ?? this.#load();
  }

  fresh(): MaybePromise<RegistryView> {
    if (this.#view === undefined) return this.#load();
    if (isRemote(this.#store)) {
      const age = this.#environment.monotonic() - this.#readAt;
      return age < this.cacheMs ? this.#view : this.#recent();
    }
    const page = this.#store.readRow(readGeneration);
    if (page instanceof Promise) return page.then((answer) => this.#unlessChanged(answer));
    return this.#unlessChanged(page);
  }

  /**
   * As a read of its own, or the answer to one under way that counts as new: what is kept is as
   * old.
   */
  #recent(): Promise<RegistryView> {
    const at = this.#environment.monotonic();
    if (this.#asked !== undefined && at - this.#asked.at < this.cacheMs) return this.#asked.answer;
    const asked = { at, answer: this.#load() };
    this.#asked = asked;
    const end = () => {
      if (this.#asked === asked) this.#asked = undefined;
    };
    asked.answer.then(end, end);
    return asked.answer;
  }

  /** Reads the registry anew, whatever the age of what is known. */
  reload(): Promise<RegistryView> {
    return this.#load();
  }

  /**
   * Resolves when every process knows of a registered observer: a commit that begins after that
   * leaves hints for it. At once on a store with atomic batches, where each commit checks the
   * registry. Elsewhere a process keeps a copy for `cacheMs`. The wait counts from when this
   * process saw the observer registered, since wall clocks differ and are set; it is twice the
   * time, since clocks run at different rates.
   */
  async untilKnown(name: string, signal: AbortSignal | undefined, doing: string): Promise<void> {
    if (this.cacheMs === 0) return;
    const noticedAt = this.#noticed.get(name)?.noticedAt;
    const knownForMs = noticedAt === undefined ? 0 : this.#environment.monotonic() - noticedAt;
    const waitMs = 2 * this.cacheMs - knownForMs;
    if (waitMs > 0) await sleep(this.#environment, waitMs, signal, doing);
  }

  /**
   * As {@link untilKnown}, for those of the observers that were registered a short while ago, by
   * this process or another.
   */
  async untilAllKnown(observers: readonly Observer[]): Promise<void> {
    const view = await this.current();
    for (const { name } of observers) {
      const { since } = view.observers.get(name)?.record ?? { since: view.at };
      if (view.at - since > longKnownUs) continue;
      await this.untilKnown(name, undefined, `Registering observer "${name}"`);
    }
  }

  #unlessChanged(page: RowPage): MaybePromise<RegistryView> {
    const generation = page.cells[0]?.write?.timestamp ?? 0;
    const view = this.#view;
    return view !== undefined && view.generation === generation ? view : this.#load();
  }

  committed(hints: readonly Hint[], commitTimestamp: number): void {
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
   * Records tables, and registers observers with their tables. What is recorded already writes
   * nothing.
   *
   * @throws SchemaError where a table contradicts what is recorded; ObserverError where an observer
   * does, or two have one name. Nothing was changed then.
   */
  async register(
    tables: readonly AnyTable[],
    observers: readonly Observer[],
    signal?: AbortSignal,
  ): Promise<void> {
    const distinct = distinctObservers(observers);
    const definitions = tables.map((table) => {
      if (isTable(table)) return table[definition];
      throw new SchemaError("`tables` takes tables made with `table(name, columns)`.");
    });
    await this.#register(
      [...definitions, ...distinct.map((observer) => observer.target.table)],
      distinct,
      signal,
    );
  }

  async #register(
    tables: readonly TableDefinition[],
    observers: readonly Observer[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const distinct = [...new Set(tables)];
    const isRecorded = (view: RegistryView) => isEmpty(planRegistration(view, distinct, observers));
    if (!isRecorded(await this.fresh())) {
      await this.#changes.run(
        async () => {
          // Compared, and not recorded.
          if (this.#readOnly) return;
          // Who was before may have recorded the same.
          if (isRecorded(await this.current())) return;
          await this.#change(async (tx, view) => {
            const plan = planRegistration(view, distinct, observers);
            this.#write(tx, plan);
            return !isEmpty(plan);
          }, signal);
        },
        signal,
        "Recording tables and observers",
      );
    }
    for (const table of distinct) this.#known.add(table);
  }

  #write(tx: CoreTransaction, plan: RegistrationPlan): void {
    for (const table of plan.tables) tx.write({ ...tableCell(table.name), value: encodeJson(table) });
    for (const { name, target, version } of plan.observers) {
      if (plan.added.has(name)) {
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
  }

  /**
   * Changes the registry in one transaction, which sees it as it then is. `run` says whether it
   * wrote something; the generation then rises, so that two changes at the same time conflict and
   * one of them is done again; those of one process wait for each other.
   */
  change(run: Change, signal?: AbortSignal): Promise<void> {
    return this.#changes.run(() => this.#change(run, signal), signal, "A change of what is registered");
  }

  async #change(run: Change, signal: AbortSignal | undefined): Promise<void> {
    await this.retrying(async () => {
      const tx = await this.systemTransaction("registry", signal);
      try {
        const changed = await run(tx, await readRegistry(tx.reader));
        if (changed) tx.write({ ...generationCell, value: nothing });
        await tx.commit();
        // The next to ask sees the change, also where what was read is kept for a while.
        if (changed) {
          this.#readAt = Number.NEGATIVE_INFINITY;
          this.#asked = undefined;
        }
      } finally {
        tx.rollback();
      }
    }, signal);
    await this.#load();
  }

  /** A transaction on the system's own cells. */
  async systemTransaction(label: string, signal?: AbortSignal): Promise<CoreTransaction> {
    return CoreTransaction.begin(this.context, { system: true, label, signal });
  }

  /** Runs a transaction again while it conflicts. */
  async retrying<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        const retryable = error instanceof PercolatorError && error.retryable;
        if (!retryable || attempt >= maxAttempts) throw error;
        const waitMs = backoffDelay(this.#environment, retrying, attempt);
        await sleep(this.#environment, waitMs, signal, "A transaction that is to be run again");
      }
    }
  }

  /** Reads a system cell as a transaction sees it. */
  async read(tx: CoreTransaction, cell: CellAddress): Promise<Buffer | undefined> {
    const { cells } = await tx.reader.row(cell.table, cell.row, [{ exact: cell.column }]);
    return cells[0]?.value;
  }

  /** Reads the registry anew. A view is never replaced by an older one. */
  async #load(): Promise<RegistryView> {
    const { active } = this.context;
    for (let attempt = 1; ; attempt++) {
      const readAt = this.#environment.monotonic();
      const at = await currentTimestamp(this.context);
      const unregister = active.register(at);
      try {
        const view = await readRegistry(new SnapshotReader(this.context, at));
        this.#readAt = Math.max(this.#readAt, readAt);
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

  /** The view with its guards stays the same object as long as nothing has changed. */
  #keep(view: RegistryView): void {
    if (this.#view?.generation === view.generation) return;
    this.#view = view;
    this.#noteEditions(view);
  }

  #noteEditions({ observers }: RegistryView): void {
    const noticedAt = this.#environment.monotonic();
    for (const name of this.#noticed.keys()) if (!observers.has(name)) this.#noticed.delete(name);
    for (const { name, record } of observers.values()) {
      const edition = `${record.since}/${record.version}`;
      if (this.#noticed.get(name)?.edition !== edition) this.#noticed.set(name, { edition, noticedAt });
    }
  }
}

function isEmpty(plan: RegistrationPlan): boolean {
  return plan.tables.length === 0 && plan.observers.length === 0;
}

function isStale(error: unknown): boolean {
  return error instanceof PercolatorError && error.code === "STALE_SNAPSHOT";
}
