import type { Columns, Part, Position, RawRow, RowView, Version } from "./cell.js";
import type { FillAnswer, FillBatch } from "./fill.js";
import type { AtomicBatch, BatchAnswer, MutationAnswer, RowMutation } from "./mutation.js";
import type { PageStore } from "./page-store.js";
import type { ZeroCopyStore } from "./zero-copy.js";

/** A result that a store may return at once, without a promise. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * What a store can do. `storeConformance` tests that the store has each capability that it claims,
 * and that it really lacks the others. It cannot test `durable` and `shared`, because it runs in one
 * process, nor count the requests of `bulkMutations`.
 */
export interface StoreCapabilities {
  /**
   * Whether the store can change several rows in one atomic batch and counts timestamps itself. If
   * true, it must have {@link RowStore.atomic}. If false, the library commits in two phases.
   */
  readonly atomicBatches: boolean;
  /**
   * Whether each request is a network round trip. If true, the library prefetches, gathers
   * requests, and caches for a short time what rarely changes. Default: true for a store without
   * atomic batches, else false.
   */
  readonly remote?: boolean | undefined;
  /**
   * Whether {@link RangeRead.reverse} works. If false, a reverse read rejects, and so does a
   * program's reverse scan.
   */
  readonly reverseScans: boolean;
  /** The most guards and mutations, counted together, of one {@link RowMutation}. */
  readonly mutationCells: number;
  /**
   * The most bytes that the columns of one mutation's guards have together, plus 64 bytes for each
   * guard. Default: no limit.
   */
  readonly guardBytes?: number | undefined;
  /**
   * Whether one mutation may have `present` and `absent` guards in any combination. If false, it
   * may have both only if all of its guards are on one part, and the `absent` guards cover only
   * earlier columns than the `present` guards, or newer versions of the same column. Default: true.
   */
  readonly mixedGuards?: boolean | undefined;
  /**
   * Whether mutations without guards that are sent together go in one request, even for different
   * rows. If true, the library leaves guards out of mutations whenever it does not need them.
   * Default: false.
   */
  readonly bulkMutations?: boolean | undefined;
  /**
   * Longest value, in bytes, that the library keeps inside lock and write records. It puts longer
   * values into data cells.
   */
  readonly inlineBytes: number;
  /** Whether a mutation that was answered `applied` survives the end of the process. */
  readonly durable: boolean;
  /** Whether several processes may use the store at the same time. */
  readonly shared: boolean;
}

/** The options of every request to a store. */
export interface StoreRequestOptions {
  /** Ends the wait when it is aborted. A mutation that was already sent then answers `unknown`. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of {@link AtomicStore.commit}. */
export interface CommitOptions extends StoreRequestOptions {
  /**
   * Given if nobody waits for this commit alone. A store that commits in groups may then let it wait
   * a few milliseconds for others.
   */
  readonly company?: CommitCompany | undefined;
}

/** Commits that probably come soon from the same process. */
export interface CommitCompany {
  /** How many. It changes at any time. */
  readonly expected: number;
}

/** A read of some columns of one row, at a timestamp. */
export interface RowRead {
  readonly table: string;
  readonly row: Uint8Array;
  readonly columns: Columns;
  /**
   * The read shows the newest locks and write records with timestamps from 0 to this one. May be
   * Infinity.
   */
  readonly at: number;
  /** The most columns of the page. Default: the store's own page size. */
  readonly limit?: number | undefined;
}

/** A page of one row's columns. If more may follow, `next` is the column with which to continue. */
export interface RowPage extends RowView {
  readonly next: Uint8Array | undefined;
}

/** A read of some columns of a range of rows, at a timestamp. */
export interface RangeRead {
  readonly table: string;
  /**
   * Start of the range, inclusive. It is the lower bound even for a reverse read. Default: the
   * table's first row.
   */
  readonly start?: Position | undefined;
  /** End of the range, exclusive. Default: the table's end. */
  readonly end?: Position | undefined;
  readonly columns: Columns;
  readonly at: number;
  /**
   * Whether rows come in descending order. The columns within a row still ascend, and no row is
   * divided over pages. Default: false.
   */
  readonly reverse?: boolean | undefined;
  /** The most rows of a page. Default: the store's own page size. */
  readonly limit?: number | undefined;
}

/**
 * A page of rows in order. Each row has at least one cell. If more may follow, `next` is the
 * `start` of the next request, or its `end` for a reverse read. A store bounds its pages in cells
 * and bytes, so a wide row may be divided over pages.
 */
export interface RangePage {
  readonly rows: readonly RowView[];
  readonly next: Position | undefined;
}

/** A read of versions of all parts. Checks, garbage collection and `inspect` use it. */
export interface RawRead {
  readonly table: string;
  readonly start?: Position | undefined;
  readonly end?: Position | undefined;
  readonly columns: Columns;
  readonly parts: readonly Part[];
  /**
   * Lets the store leave out a cell of which this read would show a single write record and nothing
   * else, if this function returns true for the record. A page may then be empty even though more
   * pages follow.
   * Default: the store leaves out nothing.
   */
  readonly skip?: ((write: Version) => boolean) | undefined;
  /** Versions with `from <= timestamp < to`. Default: all. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /**
   * The most versions of each part of a cell, counted from the newest that match. If a part has
   * this many, older ones may exist: read the cell again with `to` set to the oldest timestamp
   * returned. Default: all.
   */
  readonly versions?: number | undefined;
  readonly limit?: number | undefined;
}

/** A page of rows with their versions. All versions of one cell are in the same page. */
export interface RawPage {
  readonly rows: readonly RawRow[];
  readonly next: Position | undefined;
}

/** Damage to stored data, found by {@link RowStore.verify}. */
export interface StoreDamage {
  readonly message: string;
  /** The damaged cell. Undefined if the damage is not in one cell. */
  readonly cell:
    | { readonly table: string; readonly row: Uint8Array; readonly column: Uint8Array }
    | undefined;
}

/** The options of {@link RowStore.verify}. */
export interface VerifyOptions extends StoreRequestOptions {
  /** Called from time to time with the number of records read so far. */
  readonly onProgress?: ((records: number) => void) | undefined;
}

/**
 * The part of a store that changes several rows in one atomic step, and counts timestamps. The
 * embedded store and the memory store have it.
 */
export interface AtomicStore {
  /**
   * The value of the store's counter. Reads from now on see every commit with a timestamp up to
   * this value.
   */
  counter(): MaybePromise<number>;
  /**
   * Increments the counter, and returns the new value: max(counter + 1, wall clock in
   * microseconds). No other caller gets the same value.
   */
  next(options?: StoreRequestOptions): Promise<number>;
  /**
   * Checks all guards, takes a commit timestamp from the counter, and applies the whole batch, in
   * one atomic step. Resolves when the batch is durable. With `durability: "none"`, it resolves
   * before that.
   *
   * The answer is final. A rejected batch is never applied later, and an applied batch never again.
   * So nothing between the store and its caller may send a batch twice.
   */
  commit(batch: AtomicBatch, options?: CommitOptions): Promise<BatchAnswer>;
  /**
   * Puts all cells of a block, in one atomic step, if the guards hold, and if the table has no cell
   * from the block's first cell to its last. Resolves when the cells are durable. With `durability:
   * "none"`, it resolves before that. The counter stays as it is.
   *
   * Optional, for speed only: with this method, a bulk load needs no plan for each cell. Without it,
   * a load commits ordinary batches. If a store wraps another one and adds something to `commit`, it
   * must add the same to `fill`, or leave `fill` out.
   */
  fill?(batch: FillBatch, options?: StoreRequestOptions): Promise<FillAnswer>;
  /**
   * Calls `onCommit` soon after commits of other processes, until the watch is closed. Calls may come late,
   * be missing, or stand for several commits. Whoever watches also reads the counter, but less often.
   *
   * Optional, for speed only: with this method, a worker learns of another process's commit at once.
   */
  watch?(onCommit: () => void): CommitWatch;
}

/** What {@link AtomicStore.watch} returns. */
export interface CommitWatch {
  /** Whether commits are being reported now. If false, the counter must be read often. */
  readonly isLive: boolean;
  close(): void;
}

/**
 * The contract between the protocol and a store. A store knows nothing of transactions. It reads
 * rows and ranges of rows at a timestamp, mutates one row under guards, and lists split points.
 *
 * - **Order.** Rows and columns sort by their bytes.
 * - **Limits.** Row and column together have at most 1,800 bytes, each NUL byte counted twice. A
 *   table's name has at most 64 bytes.
 * - **Fresh reads.** A read with `at` Infinity, `readRaw`, `statistics` and the atomic store's
 *   counter show every mutation whose answer any process had received before the call.
 * - **Reads at a timestamp.** They show every mutation that was answered before the counter, or
 *   `next`, gave out that timestamp.
 * - **Absent data.** A read of an absent cell, row or table shows nothing and does not fail.
 * - **Failures.** A call rejects with a `StoreError`. A mutation that rejects was certainly not
 *   applied.
 *
 * @example
 * import { open } from "percolatordb";
 * import type { RowStore } from "percolatordb/store";
 *
 * const store: RowStore = myStore(); const db = await open(store);
 */
export interface RowStore {
  /** The store's kind and place, for messages. */
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  /** Present if and only if `capabilities.atomicBatches` is true. */
  readonly atomic: AtomicStore | undefined;
  /**
   * Reads without a copy, from the store's own memory. Optional, for speed only. A store that wraps
   * another must not pass the inner store's `zeroCopy` on, since reads would then bypass the
   * wrapper.
   */
  readonly zeroCopy?: ZeroCopyStore | undefined;
  /** Copies the store's file page by page, for backups. Optional. */
  readonly pages?: PageStore | undefined;
  /** Announces tables before their first use. A repeated call has no further effect. */
  prepare(tables: readonly string[]): Promise<void>;
  /** Reads one row at a timestamp, atomically. */
  readRow(read: RowRead, options?: StoreRequestOptions): MaybePromise<RowPage>;
  /** Reads a page of rows at a timestamp. Each row is read atomically, but not the page. */
  readRange(read: RangeRead, options?: StoreRequestOptions): MaybePromise<RangePage>;
  /**
   * Reads a page of rows with every version, for histories, inspection, garbage collection and
   * checks.
   */
  readRaw(read: RawRead, options?: StoreRequestOptions): MaybePromise<RawPage>;
  /** Mutates one row atomically, if all guards hold. */
  mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer>;
  /**
   * At most `most` rows that divide a table into pieces of about equal size, in ascending order.
   * Empty if the table is small.
   */
  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]>;
  /**
   * Looks for damage beneath the rows: in pages, their order and checksums. Empty if the data is
   * sound. The store may be in use meanwhile. Leave this method out if the storage engine verifies
   * its own data.
   */
  verify?(options?: VerifyOptions): Promise<readonly StoreDamage[]>;
  /** Figures for people, such as bytes on disk and numbers of entries. */
  statistics(): MaybePromise<Readonly<Record<string, number>>>;
  /**
   * Frees what ended processes still hold of the store, such as old versions that they were
   * reading. The library calls it when it notices that a process has ended. Leave this method out
   * if ended processes hold nothing.
   */
  clearDead?(): MaybePromise<void>;
  /** Waits for running requests, then frees everything. A repeated call has no further effect. */
  close(): Promise<void>;
}

/** Whether each request to the store is a network round trip. */
export function isRemote({ capabilities }: Pick<RowStore, "capabilities">): boolean {
  return capabilities.remote ?? !capabilities.atomicBatches;
}
