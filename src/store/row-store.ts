import type { Columns, Part, Position, RawRow, RowView, Version } from "./cell.js";
import type { AtomicBatch, BatchAnswer, MutationAnswer, RowMutation } from "./mutation.js";
import type { ZeroCopyStore } from "./zero-copy.js";

/** An answer that a store may have at once. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * What a store can do, declared. `storeConformance` tests what is claimed, and what is claimed
 * absent.
 */
export interface StoreCapabilities {
  /**
   * Several rows in one atomic batch, and a counter beside them: {@link RowStore.atomic} is there.
   */
  readonly atomicBatches: boolean;
  /**
   * Each request is a trip over a network: the library then reads ahead, joins what it sends, and
   * keeps for a moment what others rarely change. Default: true for a store without atomic batches.
   */
  readonly remote?: boolean | undefined;
  /** {@link RangeRead.reverse} works. */
  readonly reverseScans: boolean;
  /** The most guards and mutations together that one {@link RowMutation} may have. */
  readonly mutationCells: number;
  /**
   * The most bytes that the columns of one mutation's guards may have together, 64 added for each
   * guard. Default: no limit.
   */
  readonly guardBytes?: number | undefined;
  /**
   * One mutation may have `present` and `absent` guards together. False: only where each absent
   * one's column comes before all present ones' of the same part. Default: true.
   */
  readonly mixedGuards?: boolean | undefined;
  /**
   * Mutations without guards, of any rows, that are handed over together go in one request: it is
   * worth sending them without guards where these can be done without. Default: false.
   */
  readonly bulkMutations?: boolean | undefined;
  /**
   * Values of at most so many bytes go into lock and write records; longer ones into data cells.
   */
  readonly inlineBytes: number;
  /** What is answered `applied` survives the end of the process. */
  readonly durable: boolean;
  /** Several processes may use it at the same time. */
  readonly shared: boolean;
}

/** What every request to a store takes. */
export interface StoreRequestOptions {
  /** Gives up waiting when aborted. A mutation already sent then answers `unknown`. */
  readonly signal?: AbortSignal | undefined;
}

/** Which cells of a row are read, and as of when. */
export interface RowRead {
  readonly table: string;
  readonly row: Uint8Array;
  readonly columns: Columns;
  /** S: shows locks and writes with timestamps in [0, S]. May be Infinity. */
  readonly at: number;
  /** The most columns to show. Default: the store's page. */
  readonly limit?: number | undefined;
}

/** `next` is the column to go on with where more may follow. */
export interface RowPage extends RowView {
  readonly next: Uint8Array | undefined;
}

/** Which rows of a table are read, and as of when. */
export interface RangeRead {
  readonly table: string;
  /**
   * First place, inclusive (in ascending order, also when reversed). Default: the table's first.
   */
  readonly start?: Position | undefined;
  /** Place after the last. Default: none. */
  readonly end?: Position | undefined;
  readonly columns: Columns;
  readonly at: number;
  /**
   * Descending rows; the columns within a row stay ascending, and a row is then never divided over
   * pages.
   */
  readonly reverse?: boolean | undefined;
  /** The most rows of a page. Default: the store's page. */
  readonly limit?: number | undefined;
}

/**
 * Rows in order, each with a cell at least. `next`: where more may follow, the `start` of the next
 * request (its `end` when reversed). A page is bounded in cells and bytes, so that a wide row may
 * be divided over pages.
 */
export interface RangePage {
  readonly rows: readonly RowView[];
  readonly next: Position | undefined;
}

/** Which versions are read, of whatever part: for checks, collection and `inspect`. */
export interface RawRead {
  readonly table: string;
  readonly start?: Position | undefined;
  readonly end?: Position | undefined;
  readonly columns: Columns;
  readonly parts: readonly Part[];
  /**
   * A cell that holds one write record and nothing else may be left out where this says so of the
   * record; a page may then be empty with more to follow. Default: nothing is left out.
   */
  readonly skip?: ((write: Version) => boolean) | undefined;
  /** Versions with `from <= timestamp < to`. Default: all. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /**
   * The most versions of each part that are given of a cell, the newest of those asked for. A part
   * that has so many may have older ones: ask for the cell with `to` set to the last timestamp that
   * was given. Default: all.
   */
  readonly versions?: number | undefined;
  readonly limit?: number | undefined;
}

/** All versions of a cell that are given stand in one page. */
export interface RawPage {
  readonly rows: readonly RawRow[];
  readonly next: Position | undefined;
}

/** Something in what the store keeps that is not as it was written. */
export interface StoreDamage {
  readonly message: string;
  /** The cell, if it is one's. */
  readonly cell:
    | { readonly table: string; readonly row: Uint8Array; readonly column: Uint8Array }
    | undefined;
}

/** What {@link RowStore.verify} takes. */
export interface VerifyOptions extends StoreRequestOptions {
  /** Told now and then how many records have been read. */
  readonly onProgress?: ((records: number) => void) | undefined;
}

/**
 * What a store offers that can change several rows in one step. Made for the embedded store and the
 * memory store.
 */
export interface AtomicStore {
  /**
   * The store's counter, as of the snapshot that reads of this moment see: no later read shows less
   * than every commit at or below it.
   */
  counter(): MaybePromise<number>;
  /**
   * One increment of the counter, the caller's own: max(counter + 1, wall clock in microseconds).
   */
  next(options?: StoreRequestOptions): Promise<number>;
  /**
   * Checks all guards and applies the whole batch at a commit timestamp C taken from the counter in
   * the same step. Resolved only when it is durable, unless the store was opened with
   * `durability: "none"`.
   *
   * The answer is the store's last word on a batch: one that was rejected is never applied, and one
   * that was applied never again. So a store of this kind is no further away than the process that
   * uses it: what stands between both must not send a batch twice.
   */
  commit(batch: AtomicBatch, options?: StoreRequestOptions): Promise<BatchAnswer>;
}

/**
 * The seam between the protocol and what keeps the bytes; the whole of it. A store knows nothing of
 * transactions: it reads rows and ranges of rows at a timestamp, mutates one row under guards, and
 * lists split points.
 *
 * Rows and columns are ordered by their bytes. Row and column together have at most 1,800 bytes,
 * each NUL byte counted twice; a table's name has at most 64. A read whose `at` is Infinity,
 * `readRaw`, `statistics` and the atomic store's counter show every mutation that was answered
 * before they were asked, in whatever process. A read at a timestamp shows what was answered before
 * the counter, or `next`, gave that timestamp. Reading what is not there, a table included, shows
 * nothing. Failures reject with a `StoreError`; a mutation that rejects was certainly not applied.
 */
export interface RowStore {
  /** What the store is, for messages: a kind and a place. */
  readonly description: string;
  readonly capabilities: StoreCapabilities;
  /** Present exactly where `capabilities.atomicBatches` is true. */
  readonly atomic: AtomicStore | undefined;
  /**
   * Where it lends cells: optional, for speed only. Whoever stands between such a store and its
   * readers must not hand it on.
   */
  readonly zeroCopy?: ZeroCopyStore | undefined;
  /** Makes tables known before their first use. Harmless to repeat. */
  prepare(tables: readonly string[]): Promise<void>;
  /** One row at a timestamp, atomically. */
  readRow(read: RowRead, options?: StoreRequestOptions): MaybePromise<RowPage>;
  /** A page of rows at a timestamp; each row atomically. */
  readRange(read: RangeRead, options?: StoreRequestOptions): MaybePromise<RangePage>;
  /** A page of rows with every version, for histories, inspection, collection and checks. */
  readRaw(read: RawRead, options?: StoreRequestOptions): MaybePromise<RawPage>;
  /** Mutates one row under guards. */
  mutate(mutation: RowMutation, options?: StoreRequestOptions): Promise<MutationAnswer>;
  /**
   * Rows that divide a table into about equal pieces, ascending; empty where it is small. At most
   * `most`.
   */
  splitPoints(table: string, most: number): Promise<readonly Uint8Array[]>;
  /**
   * Looks for damage to what the store keeps, beneath its rows: pages, their order, checksums.
   * Empty when sound. The store may be in use. Absent: what keeps the bytes looks after that by
   * itself.
   */
  verify?(options?: VerifyOptions): Promise<readonly StoreDamage[]>;
  /** Figures for people: bytes on disk, entries, and the like. */
  statistics(): MaybePromise<Readonly<Record<string, number>>>;
  /**
   * Frees what processes that have ended still hold of the store, such as old versions that they
   * were reading. Called when the end of a process is noticed, so that it may be asked for often.
   * Optional: a store on which the dead hold nothing leaves it out.
   */
  clearDead?(): MaybePromise<void>;
  /** Waits for what is under way, then frees everything. Harmless to repeat. */
  close(): Promise<void>;
}

/** Whether each request to the store is a trip over a network. */
export function isRemote({ capabilities }: Pick<RowStore, "capabilities">): boolean {
  return capabilities.remote ?? !capabilities.atomicBatches;
}
