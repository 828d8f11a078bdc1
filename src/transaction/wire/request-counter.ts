import type { Emitter, RequestKind } from "../../events/index.js";
import type { Oracle } from "../../oracle/index.js";
import type {
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
import { JoinedMutations } from "./joined-mutations.js";

/** The store, with an event for each request where requests cost; one in this process is given back as it is. */
export function countRequests(store: RowStore, events: Emitter): RowStore {
  return store.capabilities.atomicBatches ? store : new CountedStore(store, events);
}

/** The oracle of a store whose requests are counted, with an event for each timestamp that is asked for. */
export function countTimestamps(oracle: Oracle, events: Emitter): Oracle {
  return {
    next(options) {
      count(events, "timestamp");
      return oracle.next(options);
    },
    latest: () => oracle.latest(),
    get requests() {
      return oracle.requests;
    },
  };
}

function count(events: Emitter, kind: RequestKind): void {
  if (events.heard("request")) events.emit("request", { kind });
}

class CountedStore implements RowStore {
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  readonly atomic = undefined;
  readonly #store: RowStore;
  readonly #events: Emitter;
  readonly #joined: JoinedMutations;

  constructor(store: RowStore, events: Emitter) {
    this.description = store.description;
    this.capabilities = store.capabilities;
    this.#store = store;
    this.#events = events;
    this.#joined = new JoinedMutations(
      { capabilities: store.capabilities, mutate: (mutation) => this.#mutate(mutation) },
      (mutations) => {
        if (events.heard("joined")) events.emit("joined", { mutations });
      },
    );
  }

  prepare(tables: readonly string[]): Promise<void> {
    return this.#store.prepare(tables);
  }

  readRow(read: RowRead, options?: StoreRequestOptions): MaybePromise<RowPage> {
    count(this.#events, "read");
    return this.#store.readRow(read, options);
  }

  readRange(read: RangeRead, options?: StoreRequestOptions): MaybePromise<RangePage> {
    count(this.#events, "scan");
    return this.#store.readRange(read, options);
  }

  readRaw(read: RawRead, options?: StoreRequestOptions): MaybePromise<RawPage> {
    count(this.#events, isOneCell(read) ? "read" : "scan");
    return this.#store.readRaw(read, options);
  }

  mutate(mutation: RowMutation): Promise<MutationAnswer> {
    return this.#joined.mutate(mutation);
  }

  #mutate(mutation: RowMutation): Promise<MutationAnswer> {
    count(this.#events, mutation.guards.length === 0 ? "plainMutation" : "conditionalMutation");
    return this.#store.mutate(mutation);
  }

  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    return this.#store.splitPoints(table, most);
  }

  statistics(): MaybePromise<Readonly<Record<string, number>>> {
    return this.#store.statistics();
  }

  clearDead(): MaybePromise<void> {
    return this.#store.clearDead?.();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function isOneCell({ columns, limit }: RawRead): boolean {
  return limit === 1 && columns.length === 1 && "exact" in columns[0]!;
}
