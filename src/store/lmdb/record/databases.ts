import { keySum } from "./checksum.js";
import { type CellAddress, type Key, type RecordKey, timestampOfKey, writeKey } from "./key.js";
import { contentLength } from "./seal.js";

export interface ScanOptions {
  readonly start: Key;
  /** Exclusive, except in scans with `inclusiveEnd`. */
  readonly end: Key;
  readonly reverse?: boolean;
  readonly exclusiveStart?: boolean;
  readonly inclusiveEnd?: boolean;
  readonly values?: boolean;
  readonly limit?: number;
}

/** The part of an LMDB database that this package uses, with the options below. */
export interface Handle<Entry> {
  /**
   * The value of a key. It is valid only until the next call: all values up to 32 KB share one
   * buffer, and longer ones are in the mapped file.
   */
  getBinaryFast(key: RecordKey | CellAddress): Buffer | undefined;
  getRange(options: ScanOptions): Iterable<Entry>;
  /**
   * Inside a write transaction, `put` and `remove` are synchronous, and throw if they fail. Outside
   * of one, they only queue the change for LMDB's write thread, so the value must not change until
   * it is written.
   */
  put(key: RecordKey, value: Uint8Array): unknown;
  /** `done` is called when a queued removal is committed or has failed. */
  remove(key: RecordKey, done?: () => void): unknown;
  getStats(): Record<string, unknown>;
}

/** A database that can make queued changes depend on a record. */
export interface ConditionalHandle<Entry> extends Handle<Entry> {
  /**
   * Outside of a write transaction, queues the changes that `change` makes. LMDB's write thread
   * makes them only if the database has no record at `key` at that time.
   */
  ifNoExists(key: RecordKey, change: () => void): Promise<boolean>;
}

/** The part of LMDB's environment that this package uses. */
export interface Root {
  /**
   * Runs `action` in a write transaction soon. Settles when the transaction is flushed, or has
   * failed. `action` must not throw. Changes that are queued right after this call belong to the
   * same transaction, and are made after `action`. Calls `seen` when readers can see the
   * transaction, which is before the flush. `seen` may be left out if the flush follows at once.
   */
  transaction(action: () => void, seen?: () => void): Promise<void>;
  /** Runs `action` in a write transaction now. It waits until {@link mayWrite} is true. */
  transactionSync(action: () => void): void;
  /**
   * Inside a write transaction, whether it may write. If not, it must write nothing, since another
   * process is opening the folder, or has set LMDB's number of the last transaction back. A later
   * transaction may write.
   */
  mayWrite(): boolean;
  /**
   * Inside a write transaction, the transaction's number: one more than the number of the last
   * commit. If the transaction is not committed, the next one gets the same number.
   */
  getWriteTxnId(): number;
  /**
   * Inside a write transaction that {@link transaction} began, a number that no other transaction
   * has.
   */
  thread(): number;
  /** Makes the next read see the newest commit. */
  resetReadTxn(): void;
  /** Keeps the pages of the current snapshot in place until `done`. */
  useReadTransaction(): { done(): void };
  readerCheck(): number;
  /** The oldest of LMDB's transactions that any process reads now. Infinity if none. */
  oldestReader(): number;
  /** Number of LMDB's newest transaction, of any process. */
  lastTransaction(): number;
  /**
   * `sync` waits for a running flush, and flushes what this process has not flushed. It blocks if
   * it has no callback.
   */
  readonly env: { sync(callback?: (error?: unknown) => void): void };
  close(): Promise<void>;
}

/**
 * An entry of a database whose keys end with a timestamp. `key` is that timestamp. `value` is a
 * copy, unless the scan has `values: false`.
 */
export interface VersionEntry {
  readonly key: number;
  readonly value: Buffer;
}

/** LMDB's named databases of one store. The root database holds nothing else. */
export interface Databases {
  readonly root: Root;
  /**
   * By cell key: the cell's flags, its newest write record, and that record's timestamp.
   * {@link entryReader} reads them.
   */
  readonly cells: Handle<unknown>;
  /** By cell key and timestamp: older write records. */
  readonly versions: Handle<VersionEntry>;
  /** By cell key, part and timestamp: locks, data cells and transaction statuses. */
  readonly protocol: Handle<VersionEntry>;
  /**
   * The format, and the state with the counter. The state ends with a checksum (a seal), as all
   * records of the other databases do.
   */
  readonly meta: ConditionalHandle<unknown>;
}

/** Reads entries of `cells` in LMDB's own memory, so that a scan copies only what it shows. */
export interface EntryReader {
  /** Receives a key of `cells`: `target[start..end)`. */
  key(target: Uint8Array, start: number, end: number): void;
  /**
   * Receives the value of that key: `entry[0..length)`. Key and value are valid only during the
   * call.
   */
  value(entry: Uint8Array, length: number): void;
}

/** The reader of the entries that LMDB's binding reads now. A scan sets it before each entry. */
export const entryReader: { current: EntryReader | undefined } = { current: undefined };

interface HandleOptions {
  readonly name: string;
  readonly encoding: "binary";
  readonly keyEncoder: {
    readonly writeKey: typeof writeKey;
    readonly readKey: (target: Uint8Array, start: number, end: number) => unknown;
  };
  readonly encoder: {
    readonly encode: (value: Uint8Array) => Uint8Array;
    readonly decode: (entry: Uint8Array, length?: number) => unknown;
  };
}

/**
 * All handles have the same members in the same order, so that LMDB's binding runs the same
 * optimized code for all.
 */
function handleOptions(
  name: string,
  readKey: HandleOptions["keyEncoder"]["readKey"],
  decode: HandleOptions["encoder"]["decode"],
): HandleOptions {
  return {
    name,
    encoding: "binary",
    keyEncoder: { writeKey, readKey },
    encoder: { encode: (value) => value, decode },
  };
}

/** The key that LMDB's binding has just read. The binding reads the value next. */
const scanned: { target: Uint8Array; start: number; end: number } = {
  target: new Uint8Array(0),
  start: 0,
  end: 0,
};

const timestampAtEnd = (target: Uint8Array, start: number, end: number) => {
  scanned.target = target;
  scanned.start = start;
  scanned.end = end;
  return timestampOfKey(target, end);
};

const copyOf = (record: Uint8Array, recordLength?: number) => {
  const { target, start, end } = scanned;
  const length = contentLength(record, recordLength ?? record.length, keySum(target, start, end));
  return Buffer.from(record.subarray(0, length));
};

/**
 * How LMDB's binding reads and writes {@link Key}s and bytes in each database. The binding reuses
 * the memory of values, so these options copy the values, except those of `cells`.
 */
export const databaseOptions = Object.freeze({
  cells: handleOptions(
    "cells",
    (target, start, end) => entryReader.current?.key(target, start, end),
    (entry, length) => entryReader.current?.value(entry, length ?? entry.length),
  ),
  versions: handleOptions("versions", timestampAtEnd, copyOf),
  protocol: handleOptions("protocol", timestampAtEnd, copyOf),
  meta: handleOptions("meta", timestampAtEnd, copyOf),
});

/** The databases whose keys begin with a table. */
export const databaseNames = Object.freeze(["cells", "versions", "protocol"] as const);
