import {
  type AtomicBatch,
  type AtomicStore,
  type BatchAnswer,
  type FillAnswer,
  type FillBatch,
  type MutationAnswer,
  type RangeRead,
  type RawRead,
  type RowMutation,
  type RowRead,
  type RowStore,
  rowsOfBlock,
  type StoreCapabilities,
  type StoreDamage,
  type StoreRequestOptions,
  type VerifyOptions,
} from "../../store/index.js";

/** Receives every change that was applied to a store, in order, before any other code runs. */
export interface StoreWatcher {
  /** Called with the rows that were mutated in one step. `commit` is the timestamp of a batch. */
  applied(rows: readonly RowMutation[], commit: number | undefined): void;
}

/**
 * The order in which changes were sent to several watched stores on one database. Watchers hear of
 * changes in that order, although a store that groups changes may settle the promises of a group in
 * a different order.
 */
export class ChangeOrder {
  #last: Promise<unknown> = Promise.resolve();

  /** Calls `tell` with the answer after all changes that were sent earlier have been reported. */
  async tellInTurn<T>(answered: Promise<T>, tell: (answer: T) => void): Promise<T> {
    const before = this.#last;
    const told = (async () => {
      try {
        return await answered;
      } finally {
        await before;
      }
    })().then((answer) => {
      tell(answer);
      return answer;
    });
    this.#last = told.catch(() => undefined);
    return told;
  }
}

/**
 * A store that reports its changes to a watcher. It is for stores in this process, which apply a
 * change before they answer.
 */
export class WatchedStore implements RowStore {
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  readonly atomic: AtomicStore | undefined;
  readonly #store: RowStore;
  readonly #watchers: StoreWatcher[] = [];
  readonly #order: ChangeOrder | undefined;

  /**
   * `order`: shared by all watched stores on one database, if changes can be sent concurrently.
   * Omit it if changes are sent one at a time.
   */
  constructor(store: RowStore, order?: ChangeOrder) {
    this.#store = store;
    this.#order = order;
    this.description = store.description;
    this.capabilities = store.capabilities;
    const { atomic } = store;
    this.atomic = atomic && {
      counter: () => atomic.counter(),
      next: (options) => atomic.next(options),
      commit: (batch, options) => this.#commit(atomic, batch, options),
      ...(atomic.fill && { fill: (batch, options) => this.#fill(atomic, batch, options) }),
    };
  }

  watch(watcher: StoreWatcher): void {
    this.#watchers.push(watcher);
  }

  prepare(tables: readonly string[]) {
    return this.#store.prepare(tables);
  }

  readRow(read: RowRead, options?: StoreRequestOptions) {
    return this.#store.readRow(read, options);
  }

  readRange(read: RangeRead, options?: StoreRequestOptions) {
    return this.#store.readRange(read, options);
  }

  readRaw(read: RawRead, options?: StoreRequestOptions) {
    return this.#store.readRaw(read, options);
  }

  async mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    const tell = (answer: MutationAnswer) => {
      if (answer === "applied") for (const watcher of this.#watchers) watcher.applied([mutation], undefined);
    };
    const answered = this.#store.mutate(mutation, options);
    if (this.#order !== undefined) return this.#order.tellInTurn(answered, tell);
    const answer = await answered;
    tell(answer);
    return answer;
  }

  async #commit(
    atomic: AtomicStore,
    batch: AtomicBatch,
    options?: StoreRequestOptions,
  ): Promise<BatchAnswer> {
    const tell = (answer: BatchAnswer) => {
      if (answer.answer === "applied")
        for (const watcher of this.#watchers) watcher.applied(batch.rows, answer.timestamp);
    };
    const answered = atomic.commit(batch, options);
    if (this.#order !== undefined) return this.#order.tellInTurn(answered, tell);
    const answer = await answered;
    tell(answer);
    return answer;
  }

  async #fill(
    atomic: AtomicStore,
    batch: FillBatch,
    options: StoreRequestOptions | undefined,
  ): Promise<FillAnswer> {
    const rows = rowsOfBlock(batch.cells);
    const tell = (answer: FillAnswer) => {
      if (answer === "applied") for (const watcher of this.#watchers) watcher.applied(rows, undefined);
    };
    const answered = atomic.fill!(batch, options);
    if (this.#order !== undefined) return this.#order.tellInTurn(answered, tell);
    const answer = await answered;
    tell(answer);
    return answer;
  }

  splitPoints(table: string, most: number) {
    return this.#store.splitPoints(table, most);
  }

  async verify(options?: VerifyOptions): Promise<readonly StoreDamage[]> {
    return (await this.#store.verify?.(options)) ?? [];
  }

  clearDead() {
    return this.#store.clearDead?.();
  }

  statistics() {
    return this.#store.statistics();
  }

  close() {
    return this.#store.close();
  }
}
