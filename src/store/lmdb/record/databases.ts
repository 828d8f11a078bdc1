import { keySum } from "./checksum.js";
import { type CellAddress, type Key, timestampOfKey, writeKey } from "./key.js";
import { contentLength } from "./seal.js";

export interface ScanOptions {
  readonly start: Key;
  /** Exclusive, but for scans with `inclusiveEnd`. */
  readonly end: Key;
  readonly reverse?: boolean;
  readonly exclusiveStart?: boolean;
  readonly inclusiveEnd?: boolean;
  readonly values?: boolean;
  readonly limit?: number;
}

/** What is used of one of LMDB's named databases, as the options below make it behave. */
export interface Handle<Entry> {
  /**
   * Lent: one buffer is used for all answers up to 32 KB, and longer ones lie in the mapped file.
   */
  getBinaryFast(key: Key | CellAddress): Buffer | undefined;
  getRange(options: ScanOptions): Iterable<Entry>;
  /** Inside a write transaction only, where they are done at once, and throw where they fail. */
  put(key: Key, value: Uint8Array): unknown;
  remove(key: Key): unknown;
  getStats(): Record<string, unknown>;
}

/** What is used of LMDB's environment. */
export interface Root {
  /**
   * Runs `action` in a write transaction, soon; settled when that is flushed, or has failed.
   * `action` must not throw.
   */
  transaction(action: () => void): Promise<void>;
  transactionSync(action: () => void): void;
  /**
   * Inside a write transaction: its number, one above the last committed one's. One that is not
   * committed leaves it to the next.
   */
  getWriteTxnId(): number;
  /** Inside a write transaction that {@link transaction} began: a number that no other one has. */
  thread(): number;
  /** Lets the next read see the newest commit. */
  resetReadTxn(): void;
  /** Keeps the pages of the snapshot of this moment in place until `done`. */
  useReadTransaction(): { done(): void };
  readerCheck(): number;
  /** The oldest of LMDB's transactions that any process reads now; Infinity for none. */
  oldestReader(): number;
  /** LMDB's newest transaction, of any process. */
  lastTransaction(): number;
  /**
   * `sync` waits for a flush under way, and flushes what this process has not; it blocks without a
   * callback.
   */
  readonly env: { sync(callback?: (error?: unknown) => void): void };
  close(): Promise<void>;
}

/**
 * An entry of a database whose keys end with a timestamp: that, and a copy of the value unless
 * `values: false`.
 */
export interface VersionEntry {
  readonly key: number;
  readonly value: Buffer;
}

/** LMDB's named databases of one store. The root itself holds nothing else. */
export interface Databases {
  readonly root: Root;
  /**
   * A cell's flags, newest write record and its timestamp, under the cell's key. Read by
   * {@link entryReader}.
   */
  readonly cells: Handle<unknown>;
  /** Older write records, under the cell's key and the timestamp. */
  readonly versions: Handle<VersionEntry>;
  /** Locks, data and statuses, under the cell's key, the part and the timestamp. */
  readonly protocol: Handle<VersionEntry>;
  /** Format and counter, which is sealed too. */
  readonly meta: Handle<unknown>;
}

/** Reads entries of `cells` where LMDB has put them, so that a scan copies only what it shows. */
export interface EntryReader {
  /** `target[start..end)` is a key of `cells`. */
  key(target: Uint8Array, start: number, end: number): void;
  /** `entry[0..length)` is its value. Both hold only during the call. */
  value(entry: Uint8Array, length: number): void;
}

/**
 * Who reads what the scan of the moment meets; scans run to their end, or pause between entries.
 */
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

/** All alike, member by member: then LMDB's binding runs the same fast code for all of them. */
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

/** The key that LMDB's binding has just read; it reads the value next. */
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
 * How LMDB is to read and write {@link Key}s and bytes in each database. Its values are lent, so
 * they are copied.
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

/** Those whose keys begin with a table. */
export const databaseNames = Object.freeze(["cells", "versions", "protocol"] as const);
