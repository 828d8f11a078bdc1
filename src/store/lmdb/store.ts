import { type Environment, systemEnvironment, throwIfAborted } from "../../environment/index.js";
import { ClosedError, InvalidArgumentError, StoreError } from "../../errors/index.js";
import { limits } from "../../schema/index.js";
import { checkAt, checkBatch, checkColumns, checkLimit, checkMutation, checkTable } from "../check.js";
import { checkFill, type FillAnswer } from "../fill.js";
import type { AtomicBatch, BatchAnswer, MutationAnswer, RowMutation } from "../mutation.js";
import type { PageStore, PinnedState } from "../page-store.js";
import type {
  AtomicStore,
  MaybePromise,
  RangePage,
  RangeRead,
  RawPage,
  RawRead,
  RowPage,
  RowRead,
  RowStore,
  StoreCapabilities,
  StoreDamage,
  StoreRequestOptions,
  VerifyOptions,
} from "../row-store.js";
import type { ZeroCopyStore } from "../zero-copy.js";
import { readsPages } from "./file/pages.js";
import { verifyFolder } from "./file/verify.js";
import { acquireFolder, releaseFolder } from "./folder/open-folders.js";
import { pinState } from "./folder/pinned-state.js";
import type { SharedFolder } from "./folder/shared-folder.js";
import { folderStatistics } from "./folder/statistics.js";
import { walkColumn } from "./read/column-walk.js";
import { readRaw } from "./read/raw.js";
import { readRange, readRow } from "./read/read.js";
import { splitPoints } from "./read/split.js";
import { lendCell, lendTextCell } from "./read/zero-copy.js";
import { storeError } from "./record/errors.js";
import { readCounter } from "./record/state.js";
import { type Answer, Request, type Task } from "./write/draft/request.js";

/** The options of {@link openLmdbStore}. All are optional. */
export interface LmdbStoreOptions {
  /**
   * The source of time. If a process opens several stores on one folder, the first store's
   * environment applies to all. Default: the system's.
   */
  readonly environment?: Environment | undefined;
  /**
   * When a mutation is answered. `"full"`: once it is on disk. `"none"`: once LMDB has committed
   * it. The flush then follows the answer. With `"none"`, nothing is lost if the process ends. If
   * the machine stops, the newest commits may be lost, but never a part of a commit, and the
   * database stays intact. Default: `"full"`.
   */
  readonly durability?: "full" | "none" | undefined;
  /**
   * Keeps the system from reading ahead. Set it for databases larger than memory. Default: false.
   */
  readonly noReadAhead?: boolean | undefined;
  /**
   * Initial size of the memory map, in bytes of address space. The map grows by itself, without
   * limit. Default: 256 MB.
   */
  readonly mapSize?: number | undefined;
  /** Refuses to write, and to make a missing database. Default: false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Whether to make a missing database. If false, a missing database is a `StoreError`. Default:
   * true, unless `readOnly`.
   */
  readonly create?: boolean | undefined;
  /**
   * The most processes and threads that read at the same time. The process that opens the folder
   * first decides. Default: 1,000.
   */
  readonly maxReaders?: number | undefined;
}

/** Far more than a transaction holds. */
const mutationCells = 100_000;

const capabilities: StoreCapabilities = Object.freeze({
  atomicBatches: true,
  reverseScans: true,
  mutationCells,
  inlineBytes: limits.valueBytes,
  durable: true,
  shared: true,
});

/**
 * Opens the database in the folder `path`, and makes both if they are missing. Several processes
 * may have the database open, and one process may open it several times. Reads are synchronous.
 * Mutations are grouped, and share a flush.
 *
 * @throws StoreDamagedError if the folder holds other files or a damaged database.
 * @throws StoreVersionError if a newer version of the package wrote the database.
 * @throws StoreError if the system refuses access.
 *
 * @example
 * const store = await openLmdbStore("./data");
 */
export async function openLmdbStore(path: string, options: LmdbStoreOptions = {}): Promise<RowStore> {
  const environment = options.environment ?? systemEnvironment;
  const readOnly = options.readOnly ?? false;
  if (options.durability !== undefined && options.durability !== "full" && options.durability !== "none") {
    throw new InvalidArgumentError(
      `\`durability\` must be "full" or "none", not ${JSON.stringify(options.durability)}.`,
    );
  }
  const shared = await acquireFolder(
    path,
    {
      readOnly,
      create: !readOnly && (options.create ?? true),
      noReadAhead: options.noReadAhead ?? false,
      mapSize: options.mapSize ?? 256 * 2 ** 20,
      maxReaders: options.maxReaders ?? 1_000,
    },
    environment,
  );
  return new LmdbStore(shared, path, readOnly, options.durability === "none", environment);
}

class LmdbStore implements RowStore {
  readonly description: string;
  readonly capabilities = capabilities;
  readonly atomic: AtomicStore;
  readonly zeroCopy: ZeroCopyStore;
  readonly pages: PageStore | undefined;
  readonly #shared: SharedFolder;
  readonly #readOnly: boolean;
  readonly #early: boolean;
  readonly #environment: Environment;
  readonly #underWay = new Set<Request>();
  readonly #verifications = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(
    shared: SharedFolder,
    path: string,
    readOnly: boolean,
    early: boolean,
    environment: Environment,
  ) {
    this.#environment = environment;
    this.#shared = shared;
    this.#readOnly = readOnly;
    this.#early = early;
    this.description = `lmdb:${path}`;
    this.atomic = this.#atomicStore();
    this.zeroCopy = this.#zeroCopyStore();
    this.pages = readsPages ? { pin: () => this.#pin() } : undefined;
  }

  async prepare(tables: readonly string[]): Promise<void> {
    this.#open("prepare tables");
    for (const table of tables) checkTable(table);
  }

  readRow(read: RowRead, options?: StoreRequestOptions): MaybePromise<RowPage> {
    this.#reading(read, options);
    checkAt(read.at);
    this.#refresh(read.at);
    try {
      const page = readRow(this.#shared.databases, read);
      this.#shared.checkUnchanged();
      return page;
    } catch (error) {
      // Bytes that come through a promise must stay valid.
      return this.#again(error, `read a row of table ${JSON.stringify(read.table)}`, () =>
        readRow(this.#shared.databases, read, false),
      );
    }
  }

  readRange(read: RangeRead, options?: StoreRequestOptions): MaybePromise<RangePage> {
    this.#reading(read, options);
    checkAt(read.at);
    this.#refresh(read.at);
    try {
      const page = readRange(this.#shared.databases, read);
      this.#shared.checkUnchanged();
      return page;
    } catch (error) {
      return this.#again(error, `read rows of table ${JSON.stringify(read.table)}`, () =>
        readRange(this.#shared.databases, read),
      );
    }
  }

  readRaw(read: RawRead, options?: StoreRequestOptions): MaybePromise<RawPage> {
    this.#reading(read, options);
    this.#refresh();
    try {
      const page = readRaw(this.#shared.databases, read);
      this.#shared.checkUnchanged();
      return page;
    } catch (error) {
      return this.#again(error, `read versions of table ${JSON.stringify(read.table)}`, () =>
        readRaw(this.#shared.databases, read),
      );
    }
  }

  async mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer> {
    this.#writing("mutate a row", options);
    checkMutation(mutation, mutationCells, false);
    return (await this.#ask({ type: "mutate", mutation }, options)) as MutationAnswer;
  }

  async splitPoints(table: string, most: number): Promise<readonly Uint8Array[]> {
    this.#open("list split points");
    checkTable(table);
    const { databases, path } = this.#shared;
    const points = () => {
      // This read holds the snapshot for the rest of this turn of the event loop, so LMDB reuses
      // none of the snapshot's pages meanwhile.
      readCounter(databases);
      const found = splitPoints(path, table, most);
      this.#shared.checkUnchanged();
      return found;
    };
    try {
      return points();
    } catch (error) {
      return await this.#again(error, "list split points", points);
    }
  }

  statistics(): MaybePromise<Readonly<Record<string, number>>> {
    this.#open("count");
    this.#refresh();
    try {
      return folderStatistics(this.#shared);
    } catch (error) {
      return this.#again(error, "count", () => folderStatistics(this.#shared));
    }
  }

  clearDead(): void {
    if (this.#closing === undefined) this.#shared.clearDeadReaders();
  }

  async verify(options: VerifyOptions = {}): Promise<readonly StoreDamage[]> {
    this.#open("be verified", options);
    const verification = this.#verify(options);
    this.#verifications.add(verification);
    try {
      return await verification;
    } finally {
      this.#verifications.delete(verification);
    }
  }

  async #verify(options: VerifyOptions): Promise<readonly StoreDamage[]> {
    const { path, databases } = this.#shared;
    // Closing the store ends the verification.
    const onProgress = (records: number) => {
      this.#open("be verified");
      return options.onProgress?.(records);
    };
    try {
      return await verifyFolder(path, databases, this.#environment, { ...options, onProgress });
    } finally {
      // If this reader has no lock and a writer has committed meanwhile, the findings or the error
      // may come from overwritten pages. This call then throws, and its error replaces them.
      this.#shared.checkUnchanged();
    }
  }

  #pin(): PinnedState {
    this.#open("be copied");
    this.#refresh();
    try {
      return pinState(this.#shared);
    } catch (error) {
      throw storeError(error, this.#shared.path, "be copied");
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const answers = [...this.#underWay].map((request) => request.answered);
    await Promise.allSettled([...answers, ...this.#verifications]);
    await releaseFolder(this.#shared);
  }

  #atomicStore(): AtomicStore {
    return {
      counter: () => {
        this.#open("read the counter");
        this.#refresh();
        try {
          const counter = readCounter(this.#shared.databases);
          this.#shared.checkUnchanged();
          return counter;
        } catch (error) {
          return this.#again(error, "read the counter", () => readCounter(this.#shared.databases));
        }
      },
      next: async (options) => {
        this.#writing("take a timestamp", options);
        return (await this.#ask({ type: "next" }, options)) as number;
      },
      commit: (batch, options) => this.#commit(batch, options),
      fill: async (batch, options) => {
        this.#writing("fill a range", options);
        checkFill(batch, mutationCells);
        return (await this.#ask({ type: "fill", batch }, options)) as FillAnswer;
      },
    };
  }

  /**
   * Zero-copy reads. A read that fails here returns undefined. The caller then uses `readRow` or
   * `readRange`, which reports the failure or repairs its cause.
   */
  #zeroCopyStore(): ZeroCopyStore {
    return {
      cell: (table, row, rowLength, column, at) => {
        if (!this.#lends || !isTimestamp(at)) return undefined;
        try {
          return lendCell(this.#shared.databases, table, row, rowLength, column, at);
        } catch {
          return undefined;
        }
      },
      textCell: (table, row, column, at) => {
        if (!this.#lends || !isTimestamp(at)) return undefined;
        try {
          return lendTextCell(this.#shared.databases, table, row, column, at);
        } catch {
          return undefined;
        }
      },
      column: (read, take) => {
        if (!this.#lends || !isTimestamp(read.at) || !(read.limit >= 1)) return undefined;
        try {
          return walkColumn(this.#shared.databases, read, take);
        } catch {
          return undefined;
        }
      },
    };
  }

  /**
   * Whether zero-copy reads are safe. If writers cannot see this reader, they may overwrite the
   * pages that it reads.
   */
  get #lends(): boolean {
    return this.#closing === undefined && !this.#shared.isUnlocked;
  }

  #commit(batch: AtomicBatch, options: StoreRequestOptions | undefined): Promise<BatchAnswer> {
    try {
      this.#writing("commit a batch", options);
      checkBatch(batch, mutationCells);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#ask({ type: "commit", batch }, options) as Promise<BatchAnswer>;
  }

  #ask(task: Task, options: StoreRequestOptions | undefined): Promise<Answer> {
    const request = new Request(task, this.#early, options, this.#shared.environment, this.#underWay);
    this.#shared.queue.push(request);
    return request.answered;
  }

  #reading(
    read: Pick<RawRead, "table" | "columns" | "limit">,
    options: StoreRequestOptions | undefined,
  ): void {
    this.#open("read", options);
    checkColumns(read.columns);
    checkLimit(read.limit);
  }

  #writing(doing: string, options: StoreRequestOptions | undefined): void {
    this.#open(doing, options);
    if (this.#readOnly) {
      throw new StoreError(
        `The database in ${this.#shared.path} was opened with \`readOnly\`, so it cannot ${doing}.`,
      );
    }
  }

  #open(doing: string, options?: StoreRequestOptions): void {
    if (this.#closing !== undefined) {
      throw new ClosedError(
        `The store on ${this.#shared.path} was closed, so it cannot ${doing}. Open it again.`,
      );
    }
    if (options?.signal !== undefined) throwIfAborted(options.signal, `A request to ${doing}`);
  }

  /**
   * Makes a read of the present see the newest commit of any process. LMDB's binding keeps a
   * snapshot for the rest of a turn of the event loop. A read at a timestamp needs no refresh: the
   * snapshot is at least as new as the counter that gave the timestamp.
   */
  #refresh(at = Number.POSITIVE_INFINITY): void {
    if (at === Number.POSITIVE_INFINITY) this.#shared.refresh();
  }

  /**
   * Reopens LMDB and repeats a read, if the failure comes from a broken LMDB. Throws if `error` has
   * another reason.
   */
  #again<T>(error: unknown, doing: string, read: () => T): Promise<T> {
    const { path } = this.#shared;
    this.#shared.checkUnchanged();
    if (!this.#shared.isBroken(error)) throw storeError(error, path, doing);
    return this.#afterMending(error, doing, read);
  }

  async #afterMending<T>(error: unknown, doing: string, read: () => T): Promise<T> {
    try {
      await this.#shared.mend(error);
      return read();
    } catch (again) {
      throw storeError(again, this.#shared.path, doing);
    }
  }
}

/**
 * Whether `at` is a timestamp at which zero-copy reads work. Reads of the present use `readRow` and
 * `readRange`, which refresh the snapshot.
 */
function isTimestamp(at: number): boolean {
  return at >= 0 && at < Number.POSITIVE_INFINITY;
}
