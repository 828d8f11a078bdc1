import type { Emitter, RequestKind } from "../../events/index.js";
import type { Oracle } from "../../oracle/index.js";
import {
  isRemote,
  type MaybePromise,
  type MutationAnswer,
  type RangePage,
  type RangeRead,
  type RawPage,
  type RawRead,
  type RowMutation,
  type RowPage,
  type RowRead,
  type RowStore,
  type StoreRequestOptions,
} from "../../store/index.js";
import { PassingStore } from "./passing-store.js";

/**
 * Wraps a remote store so that each request emits an event. Returns a store in this process
 * unchanged.
 */
export function countRequests(store: RowStore, events: Emitter): RowStore {
  return isRemote(store) ? new CountedStore(store, events) : store;
}

/** Wraps an oracle so that each request for a new timestamp emits an event. */
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
  if (events.hasListeners("request")) events.emit("request", { kind });
}

/** A remote store that emits the event `request` before it passes each request on. */
class CountedStore extends PassingStore {
  readonly #events: Emitter;

  constructor(store: RowStore, events: Emitter) {
    super(store);
    this.#events = events;
  }

  override readRow(read: RowRead, options?: StoreRequestOptions): MaybePromise<RowPage> {
    count(this.#events, "read");
    return super.readRow(read, options);
  }

  override readRange(read: RangeRead, options?: StoreRequestOptions): MaybePromise<RangePage> {
    count(this.#events, "scan");
    return super.readRange(read, options);
  }

  override readRaw(read: RawRead, options?: StoreRequestOptions): MaybePromise<RawPage> {
    count(this.#events, isOneCell(read) ? "read" : "scan");
    return super.readRaw(read, options);
  }

  override mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    count(this.#events, mutation.guards.length === 0 ? "plainMutation" : "conditionalMutation");
    return super.mutate(mutation, options);
  }
}

function isOneCell({ columns, limit }: RawRead): boolean {
  return limit === 1 && columns.length === 1 && "exact" in columns[0]!;
}
