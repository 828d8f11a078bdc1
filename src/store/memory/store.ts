import { type Environment, systemEnvironment, throwIfAborted } from "../../environment/index.js";
import { ClosedError, InvalidArgumentError } from "../../errors/index.js";
import {
  checkAt,
  checkBatch,
  checkColumns,
  checkKey,
  checkLimit,
  checkMutation,
  checkTable,
} from "../check.js";
import { checkFill } from "../fill.js";
import {
  type AtomicBatch,
  type BatchAnswer,
  type MutationAnswer,
  nextTimestamp,
  type RowMutation,
} from "../mutation.js";
import type { PageLimits } from "../range-page.js";
import type {
  AtomicStore,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowPage,
  RowRead,
  RowStore,
  StoreCapabilities,
  StoreRequestOptions,
} from "../row-store.js";
import { apply, failedGuard, fill, rejection, type Tables } from "./mutate.js";
import { readRange, readRaw, readRow } from "./read.js";

/** The options of {@link memoryStore}. All are optional. */
export interface MemoryStoreOptions {
  /** The clock for the store's counter. Default: the system's clock. */
  readonly environment?: Environment | undefined;
  /**
   * Whether the store applies several rows in one step. If false, it is a store of one-row
   * mutations, without `atomic`. Default: true.
   */
  readonly atomicBatches?: boolean | undefined;
  /** Whether the store reads ranges in reverse. Default: true. */
  readonly reverseScans?: boolean | undefined;
  /**
   * Longest value, in bytes, that goes into lock and write records. Default: 64, so that tests use
   * data cells too.
   */
  readonly inlineBytes?: number | undefined;
  /** The most guards and mutations, counted together, of one row mutation. Default: 1,000. */
  readonly mutationCells?: number | undefined;
  /**
   * Whether the store declares the capability `bulkMutations`. It changes nothing else. Default:
   * false.
   */
  readonly bulkMutations?: boolean | undefined;
  /**
   * Whether the store declares the capability `remote`, so that processes use copies of what others
   * rarely change. It changes nothing else. Default: `true` without atomic batches.
   */
  readonly remote?: boolean | undefined;
  /** The most cells of a page, at least 1. Default: 1,000. */
  readonly pageCells?: number | undefined;
}

const pageBytes = 1 << 20;

/**
 * A store in this process's memory, for tests, simulations, and databases that end with the
 * process. It answers reads synchronously. It returns its own bytes and keeps the bytes that it is
 * given, so callers must change neither.
 *
 * @throws InvalidArgumentError if `pageCells` is below 1.
 *
 * @example
 * const store = memoryStore({ atomicBatches: false });
 * const db = await open(store);
 */
export function memoryStore(options: MemoryStoreOptions = {}): RowStore {
  return new MemoryStore(options);
}

/**
 * A new memory store with the current content of another. Later changes of one do not affect the
 * other.
 *
 * @throws InvalidArgumentError if `store` is not a memory store.
 */
export function copyMemoryStore(store: RowStore, options: MemoryStoreOptions = {}): RowStore {
  if (store instanceof MemoryStore) return store.copy(options);
  throw new InvalidArgumentError("Only a memory store can be copied.");
}

class MemoryStore implements RowStore {
  readonly description = "memory:";
  readonly capabilities: StoreCapabilities;
  readonly atomic: AtomicStore | undefined;
  readonly #options: MemoryStoreOptions;
  readonly #environment: Environment;
  readonly #limits: PageLimits;
  #tables: Tables = new Map();
  #counter = 0;
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
    this.#environment = options.environment ?? systemEnvironment;
    this.capabilities = Object.freeze({
      atomicBatches: options.atomicBatches ?? true,
      reverseScans: options.reverseScans ?? true,
      mutationCells: options.mutationCells ?? 1_000,
      inlineBytes: options.inlineBytes ?? 64,
      bulkMutations: options.bulkMutations ?? false,
      ...(options.remote === undefined ? {} : { remote: options.remote }),
      durable: false,
      shared: false,
    });
    const cells = options.pageCells ?? 1_000;
    // A page of no cells would never end.
    if (!(cells >= 1)) throw new InvalidArgumentError(`\`pageCells\` must be 1 or more, not ${cells}.`);
    this.#limits = { cells, bytes: pageBytes, scanned: Math.max(10_000, cells) };
    this.atomic = this.capabilities.atomicBatches ? this.#atomicStore() : undefined;
  }

  copy(options: MemoryStoreOptions): MemoryStore {
    const copy = new MemoryStore({ ...this.#options, ...options });
    copy.#counter = this.#counter;
    copy.#tables = new Map([...this.#tables].map(([name, table]) => [name, table.copy()]));
    return copy;
  }

  async prepare(tables: readonly string[]): Promise<void> {
    this.#open("prepare tables");
    for (const table of tables) checkTable(table);
  }

  readRow(read: RowRead, options?: StoreRequestOptions): RowPage {
    this.#reading(read, options);
    checkAt(read.at);
    checkKey(read.table, read.row, undefined);
    return readRow(this.#tables.get(read.table), read, this.#limits);
  }

  readRange(read: RangeRead, options?: StoreRequestOptions): RangePage {
    this.#reading(read, options);
    checkAt(read.at);
    if (read.reverse && !this.capabilities.reverseScans) {
      throw new InvalidArgumentError("This store cannot read ranges backwards (capabilities.reverseScans).");
    }
    return readRange(this.#tables.get(read.table), read, this.#limits);
  }

  readRaw(read: RawRead, options?: StoreRequestOptions): RawPage {
    this.#reading(read, options);
    return readRaw(this.#tables.get(read.table), read, this.#limits);
  }

  async mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    this.#open("mutate a row", options);
    checkMutation(mutation, this.capabilities.mutationCells, false);
    if (failedGuard(this.#tables, mutation, 0) >= 0) return "rejected";
    apply(this.#tables, mutation, 0);
    return "applied";
  }

  async splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    this.#open("list split points");
    checkTable(table);
    const cells = this.#tables.get(table);
    const step = Math.ceil((cells?.size ?? 0) / (most + 1));
    if (cells === undefined || most < 1 || step < 100) return [];
    const points: Uint8Array[] = [];
    let index = 0;
    let row: Uint8Array | undefined;
    for (const cell of cells.from("")) {
      if (index >= step && points.length < most && row !== undefined && Buffer.compare(row, cell.row) !== 0) {
        points.push(cell.row);
        index = 0;
      }
      row = cell.row;
      index++;
    }
    return points;
  }

  statistics(): Readonly<Record<string, number>> {
    this.#open("count");
    let cells = 0;
    for (const table of this.#tables.values()) cells += table.size;
    return { tables: this.#tables.size, cells };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tables = new Map();
  }

  #atomicStore(): AtomicStore {
    return {
      counter: () => {
        this.#open("read the counter");
        return this.#counter;
      },
      next: async (options) => {
        this.#open("take a timestamp", options);
        this.#counter = this.#nextTimestamp();
        return this.#counter;
      },
      commit: async (batch, options) => this.#commit(batch, options),
      fill: async (batch, options) => {
        this.#open("fill a range", options);
        checkFill(batch, this.capabilities.mutationCells);
        return fill(this.#tables, batch);
      },
    };
  }

  #commit(batch: AtomicBatch, options: StoreRequestOptions | undefined): BatchAnswer {
    this.#open("commit a batch", options);
    checkBatch(batch, this.capabilities.mutationCells);
    const timestamp = this.#nextTimestamp();
    const rejected = rejection(this.#tables, batch, timestamp);
    if (rejected !== undefined) return rejected;
    this.#counter = timestamp;
    for (const row of batch.rows) apply(this.#tables, row, timestamp);
    return { answer: "applied", timestamp };
  }

  #nextTimestamp(): number {
    return nextTimestamp(this.#counter, this.#environment.now());
  }

  #reading(
    read: Pick<RawRead, "table" | "columns" | "limit">,
    options: StoreRequestOptions | undefined,
  ): void {
    this.#open("read", options);
    checkTable(read.table);
    checkColumns(read.columns);
    checkLimit(read.limit);
  }

  #open(doing: string, options?: StoreRequestOptions): void {
    if (this.#closed) throw new ClosedError(`The memory store was closed, so it cannot ${doing}.`);
    throwIfAborted(options?.signal, `A request to ${doing}`);
  }
}
