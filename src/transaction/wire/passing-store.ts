import type {
  AtomicStore,
  MaybePromise,
  MutationAnswer,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowMutation,
  RowPage,
  RowRead,
  RowStore,
  StoreCapabilities,
  StoreRequestOptions,
} from "../../store/index.js";

/**
 * Passes every call on to another store, except zero-copy reads, because a wrapper must not pass on
 * lent bytes. A subclass overrides the calls that it changes.
 */
export class PassingStore implements RowStore {
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  readonly atomic: AtomicStore | undefined;
  readonly verify?: NonNullable<RowStore["verify"]>;
  readonly clearDead?: NonNullable<RowStore["clearDead"]>;
  protected readonly store: RowStore;

  constructor(store: RowStore) {
    this.store = store;
    this.description = store.description;
    this.capabilities = store.capabilities;
    this.atomic = store.atomic;
    if (store.verify !== undefined) this.verify = store.verify.bind(store);
    if (store.clearDead !== undefined) this.clearDead = store.clearDead.bind(store);
  }

  prepare(tables: readonly string[]): Promise<void> {
    return this.store.prepare(tables);
  }

  readRow(read: RowRead, options?: StoreRequestOptions): MaybePromise<RowPage> {
    return this.store.readRow(read, options);
  }

  readRange(read: RangeRead, options?: StoreRequestOptions): MaybePromise<RangePage> {
    return this.store.readRange(read, options);
  }

  readRaw(read: RawRead, options?: StoreRequestOptions): MaybePromise<RawPage> {
    return this.store.readRaw(read, options);
  }

  mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    return this.store.mutate(mutation, options);
  }

  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    return this.store.splitPoints(table, most);
  }

  statistics(): MaybePromise<Readonly<Record<string, number>>> {
    return this.store.statistics();
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
