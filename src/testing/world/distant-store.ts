import { StoreError } from "../../errors/index.js";
import {
  type AtomicBatch,
  type AtomicStore,
  type BatchAnswer,
  commitTimestamp,
  type FillAnswer,
  type FillBatch,
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
  rowsOfBlock,
  type StoreCapabilities,
  type StoreDamage,
  type VerifyOptions,
  type Version,
} from "../../store/index.js";
import { namedPlace, type Place, rangePlace, rowPlace } from "./place.js";
import type { Network, Request } from "./request.js";
import { digestPage, showBatch, showBatchAnswer, showMutation, showPage, showRead } from "./show.js";

/** The place of a store's counter. */
export const counterPlace = namedPlace("counter");

export interface DistantStoreOptions {
  readonly store: RowStore;
  readonly network: Network;
  /**
   * Whether a request is performed at once because no other request can interfere with it. Default:
   * no request is.
   */
  readonly isImmediate?: ((places: readonly Place[], changes: boolean) => boolean) | undefined;
}

/** One client's connection to a store. Every request goes through a network. */
export class DistantStore implements RowStore {
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  readonly atomic: AtomicStore | undefined;
  readonly #store: RowStore;
  readonly #network: Network;
  readonly #isImmediate: (places: readonly Place[], changes: boolean) => boolean;

  constructor(options: DistantStoreOptions) {
    const { store, network } = options;
    this.#store = store;
    this.#network = network;
    this.#isImmediate = options.isImmediate ?? (() => false);
    this.description = store.description;
    this.capabilities = store.capabilities;
    this.atomic = store.atomic && this.#distantAtomic(store.atomic);
  }

  async prepare(tables: readonly string[]): Promise<void> {
    await this.#store.prepare(tables);
  }

  readRow(read: RowRead): MaybePromise<RowPage> {
    const places = [rowPlace(read.table, read.row)];
    if (this.#isImmediate(places, false)) return this.#store.readRow(read);
    return this.#read(
      places,
      () => showRead(read),
      () => {
        const page = this.#store.readRow(read);
        return page instanceof Promise ? page : keepPage(page);
      },
    );
  }

  readRange(read: RangeRead): MaybePromise<RangePage> {
    const places = [rangePlace(read.table, read.start?.row, endRow(read.end))];
    if (this.#isImmediate(places, false)) return this.#store.readRange(read);
    return this.#read(
      places,
      () => showRead(read),
      () => this.#store.readRange(read),
    );
  }

  readRaw(read: RawRead): MaybePromise<RawPage> {
    const places = [rangePlace(read.table, read.start?.row, endRow(read.end))];
    if (this.#isImmediate(places, false)) return this.#store.readRaw(read);
    return this.#read(
      places,
      () => showRead(read),
      () => this.#store.readRaw(read),
    );
  }

  #read<T extends RowPage | RangePage | RawPage>(
    places: readonly Place[],
    describe: () => string,
    apply: () => MaybePromise<T>,
  ): Promise<T> {
    return this.#network.send<T>({
      kind: "read",
      places,
      changes: false,
      mayBeLate: false,
      mayRepeat: false,
      describe,
      apply,
      lost: () => {
        throw new StoreError("The store did not answer a read.", { retryable: true });
      },
      show: showPage,
      digest: digestPage,
    });
  }

  mutate(mutation: RowMutation): Promise<MutationAnswer> {
    const places = [rowPlace(mutation.table, mutation.row)];
    const apply = () => this.#store.mutate(mutation);
    if (this.#isImmediate(places, true)) return apply();
    return this.#network.send<MutationAnswer>({
      kind: "mutate",
      places,
      changes: true,
      mayBeLate: true,
      mayRepeat: true,
      describe: () => showMutation(mutation),
      apply,
      lost: () => "unknown",
      show: (answer) => answer,
      digest: (answer) => answer,
    });
  }

  #distantAtomic(atomic: AtomicStore): AtomicStore {
    return {
      counter: () => {
        if (this.#isImmediate([counterPlace], false)) return atomic.counter();
        return this.#network.send<number>(timestampRequest("counter", false, () => atomic.counter()));
      },
      next: () => this.#network.send<number>(timestampRequest("next timestamp", true, () => atomic.next())),
      commit: (batch) => {
        // The commit takes a timestamp from the counter, so it depends on more than its own rows.
        const places = [counterPlace, ...batchPlaces(batch)];
        return this.#network.send<BatchAnswer>({
          kind: "commit",
          places,
          changes: true,
          mayBeLate: true,
          mayRepeat: !takesCommitTimestamp(batch),
          describe: () => showBatch(batch),
          apply: () => atomic.commit(batch),
          lost: () => ({ answer: "unknown" }),
          show: showBatchAnswer,
          digest: showBatchAnswer,
        });
      },
      ...(atomic.fill && { fill: (batch) => this.#fill(atomic, batch) }),
    };
  }

  #fill(atomic: AtomicStore, { guarded, cells }: FillBatch): Promise<FillAnswer> {
    // The request may arrive when the sender has put other cells into its block.
    const batch = { guarded, cells: cells.copy() };
    const rows = rowsOfBlock(cells);
    const end = Buffer.concat([rows.at(-1)!.row, Buffer.of(0)]);
    return this.#network.send<FillAnswer>({
      kind: "commit",
      places: [rowPlace(guarded.table, guarded.row), rangePlace(cells.table, rows[0]!.row, end)],
      changes: true,
      mayBeLate: true,
      mayRepeat: true,
      describe: () => `fill: ${showBatch({ rows: [{ ...guarded, mutations: [] }, ...rows] })}`,
      apply: () => atomic.fill!(batch),
      lost: () => "unknown",
      show: (answer) => answer,
      digest: (answer) => answer,
    });
  }

  /**
   * Checks how the store keeps its data, and not the data itself. No other request can interfere
   * with it, so it names no places.
   */
  async verify(options?: VerifyOptions): Promise<readonly StoreDamage[]> {
    if (this.#store.verify === undefined) return [];
    return this.#network.send<readonly StoreDamage[]>({
      kind: "read",
      places: [],
      changes: false,
      mayBeLate: false,
      mayRepeat: false,
      describe: () => "verify",
      apply: async () => (await this.#store.verify?.(options)) ?? [],
      lost: () => {
        throw new StoreError("The store did not answer a request to verify it.", { retryable: true });
      },
      show: (damage) => `${damage.length} damaged`,
      digest: (damage) => `${damage.length} damaged`,
    });
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

  /** The store is shared, so it stays open. */
  async close(): Promise<void> {}
}

/** Copies a page, because the store may only have lent its bytes and the answer is read later. */
export function keepPage(page: RowPage): RowPage {
  const keep = ({ timestamp, value }: Version): Version => ({ timestamp, value: Buffer.from(value) });
  const cells = page.cells.map(({ column, lock, write, latest, data }) => ({
    column: Buffer.from(column),
    lock: lock && keep(lock),
    write: write && keep(write),
    latest,
    data: data.map(keep),
  }));
  return { row: Buffer.from(page.row), cells, next: page.next && Buffer.from(page.next) };
}

/** Creates a request for a timestamp. */
export function timestampRequest(
  what: string,
  changes: boolean,
  apply: () => MaybePromise<number>,
): Request<number> {
  return {
    kind: changes ? "timestamp" : "counter",
    places: [counterPlace],
    changes,
    mayBeLate: false,
    mayRepeat: false,
    describe: () => what,
    apply,
    lost: () => {
      throw new StoreError("The store did not answer a request for a timestamp.", { retryable: true });
    },
    show: String,
    digest: String,
  };
}

/**
 * Whether the batch takes its commit timestamp from the store. The store's answer to such a batch
 * must be final (see `AtomicStore.commit`). The answer to a prewrite need not be.
 */
function takesCommitTimestamp({ rows }: AtomicBatch): boolean {
  return rows.some(({ mutations }) =>
    mutations.some((one) => "timestamp" in one && one.timestamp === commitTimestamp),
  );
}

function batchPlaces(batch: AtomicBatch): Place[] {
  const places = batch.rows.map(({ table, row }) => rowPlace(table, row));
  for (const { table, start, end } of batch.ranges ?? []) places.push(rangePlace(table, start, end));
  return places;
}

/** Returns the row after the last one that a range reaches. */
function endRow(
  end: { readonly row: Uint8Array; readonly column?: Uint8Array | undefined } | undefined,
): Uint8Array | undefined {
  if (end === undefined) return undefined;
  if (end.column === undefined || end.column.length === 0) return end.row;
  return Buffer.concat([end.row, Buffer.of(0)]);
}
