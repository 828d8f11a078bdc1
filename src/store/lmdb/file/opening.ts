import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { StoreDamagedError, StoreVersionError } from "../../../errors/index.js";
import {
  type ConditionalHandle,
  type Databases,
  databaseOptions,
  type Handle,
  type Root,
  type VersionEntry,
} from "../record/databases.js";
import { storeError } from "../record/errors.js";
import { formatName, formatVersion } from "../record/layout.js";
import { formats, readFormat, writeFormat } from "../record/state.js";
import { guardExit } from "./exit-guard.js";
import { type FlushedBefore, settleFlushedHead, undoFirstCommit } from "./flushed-head.js";
import { dataFileName } from "./folder.js";
import { setLastTransaction } from "./lock-file.js";
import { busyError, type HeldLock } from "./lock-watch.js";
import type { Openings } from "./openings.js";
import { beginSealing, sealAll, upgradeFrom1 } from "./upgrade.js";
import { type NativeRoot, Writing } from "./writing.js";

export interface EnvironmentOptions {
  readonly readOnly: boolean;
  /** Whether to make the database if it is missing. */
  readonly create: boolean;
  readonly noReadAhead: boolean;
  readonly mapSize: number;
  readonly maxReaders: number;
}

/** LMDB's databases of a folder, and the threads that write them. */
export interface Opened {
  readonly databases: Databases;
  readonly writing: Writing;
}

/**
 * Opens LMDB's databases in the folder. Other threads of this process share the environment. The
 * caller has announced the opening in `openings`, and withdraws it afterwards. `held`
 * is a lock that another process holds without end. If it is given, this function opens the
 * databases without that lock, and the caller must call `settleHead` before the first write. A
 * database that must first be made, or converted from an older layout, cannot be opened without the
 * lock.
 */
export function openDatabases(
  path: string,
  options: EnvironmentOptions,
  openings: Openings,
  flushed?: FlushedBefore,
  held?: HeldLock,
): Opened {
  if (held !== undefined && !options.readOnly) return openUnlocked(path, options, openings, held);
  let root: RootDatabase | undefined;
  guardExit();
  try {
    const dataFile = join(path, dataFileName);
    if (!options.readOnly) undoFirstCommit(dataFile, openings.isAlone());
    root = open(nativeOptions(path, options));
    const writing = new Writing(root as unknown as NativeRoot);
    const own = rootOf(root, writing, path, openings);
    if (!options.readOnly) {
      // LMDB's flush has no end while its number of the last transaction is wrong.
      own.transactionSync(() => undefined);
      settleFlushedHead(own, dataFile, flushed);
    }
    return { databases: openNamed(root, own, path, options.readOnly, openings), writing };
  } catch (error) {
    root?.close().catch(() => undefined);
    throw storeError(error, path, "be opened");
  }
}

/**
 * Opens existing databases in read transactions. The binding would use write transactions, and
 * block the main thread until the lock is free.
 */
function openUnlocked(path: string, options: EnvironmentOptions, openings: Openings, held: HeldLock): Opened {
  let root: RootDatabase | undefined;
  guardExit();
  try {
    const native = { ...nativeOptions(path, options), create: false };
    const Class = open({ ...native, asClass: true } as typeof native) as unknown as UnlockedClass;
    const { transactionSync } = Class.prototype;
    Class.prototype.transactionSync = function (action) {
      this.resetReadTxn();
      this.ensureReadTxn();
      action();
    };
    try {
      root = new Class(null, native);
      const writing = new Writing(root as unknown as NativeRoot);
      const databases = namedDatabases(root, rootOf(root, writing, path, openings), { create: false });
      const format = databases && readFormat(databases);
      if (databases === undefined || format !== formats.current) {
        checkFormat(format ?? formats.current, path);
        throw busyError(path, held);
      }
      return { databases, writing };
    } finally {
      Class.prototype.transactionSync = transactionSync;
    }
  } catch (error) {
    root?.close().catch(() => undefined);
    throw storeError(error, path, "be opened");
  }
}

export function nativeOptions(path: string, options: EnvironmentOptions) {
  return {
    path,
    noSubdir: false,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 8,
    noMemInit: true,
    // For the statistics. It costs a few reads of the clock for each transaction.
    trackMetrics: true,
    // This package does not use the binding's batches. A batch that cannot be committed would leave
    // an unhandled rejection.
    eventTurnBatching: false,
    // Changes that are queued behind the action of a transaction are made after the action.
    strictAsyncOrder: true,
    mapSize: options.mapSize,
    maxReaders: options.maxReaders,
    readOnly: options.readOnly,
    ...(options.noReadAhead ? { noReadAhead: true } : {}),
  } as Parameters<typeof open>[0] & { path: string };
}

/** The part of the binding's root that {@link rootOf} passes on. */
interface NativeHandle
  extends Omit<Root, "transaction" | "mayWrite" | "thread" | "lastTransaction" | "oldestReader"> {
  /**
   * One line for each reader, with its process, thread and transaction. The transaction is a dash
   * if the reader reads none.
   */
  readerList(): string;
}

function oldestReader(list: string): number {
  const transactions = [...list.matchAll(/^ *\d+ +[\da-f]+ +(\d+)$/gm)].map(([, number]) => Number(number));
  return Math.min(...transactions);
}

function rootOf(root: RootDatabase, writing: Writing, path: string, openings: Openings): Root {
  const native = root as unknown as NativeHandle & NativeRoot;
  const mayWrite = () => {
    if (openings.isRunning()) return false;
    // LMDB finds this number in the data file.
    const { lastTxnId } = native.env.info();
    if (lastTxnId < native.getWriteTxnId()) return true;
    setLastTransaction(path, lastTxnId);
    return false;
  };
  return {
    transaction: (action, seen) => writing.transaction(action, seen),
    transactionSync(action) {
      for (let done = false; !done; ) {
        openings.waitUntilEnded();
        native.transactionSync(() => {
          done = mayWrite();
          if (done) action();
        });
      }
    },
    mayWrite,
    getWriteTxnId: () => native.getWriteTxnId(),
    thread: () => writing.thread,
    resetReadTxn: () => native.resetReadTxn(),
    useReadTransaction: () => native.useReadTransaction(),
    readerCheck: () => native.readerCheck(),
    oldestReader: () => oldestReader(native.readerList()),
    lastTransaction: () => native.env.info().lastTxnId,
    env: {
      sync(callback) {
        if (callback === undefined) native.env.sync();
        else writing.sync(callback);
      },
    },
    close: () => writing.close(),
  };
}

interface UnlockedClass {
  new (name: null, options: object): RootDatabase;
  readonly prototype: {
    transactionSync(this: { resetReadTxn(): void; ensureReadTxn(): void }, action: () => void): void;
  };
}

/**
 * The part of the binding's database class that this package uses. It opens the environment before
 * any database exists.
 */
interface DatabaseClass {
  new (name: null, options: object): unknown;
  readonly prototype: { close(this: { isRoot: true }): Promise<void> };
}

/**
 * Throws if this process still has the folder's broken environment, because another thread has it
 * open. A write to that environment would end the process. Opening it for reading, as this function
 * does, is harmless.
 */
export function probeFolder(path: string, options: EnvironmentOptions): void {
  const probe = { ...nativeOptions(path, { ...options, readOnly: true }), asClass: true };
  const Class = open(probe) as unknown as DatabaseClass;
  try {
    new Class(null, probe);
  } finally {
    Class.prototype.close.call({ isRoot: true }).catch(() => undefined);
  }
}

/** Opens the named databases. Undefined if one of them is missing. */
function namedDatabases(
  root: RootDatabase,
  own: Root,
  options: { readonly create?: false },
): Databases | undefined {
  const named = <Entry>(its: object & { name: string }) => {
    const handle: unknown = root.openDB({ ...its, ...options } as Parameters<RootDatabase["openDB"]>[0] & {
      name: string;
    });
    return handle as Handle<Entry> | undefined;
  };
  const cells = named<unknown>(databaseOptions.cells);
  const versions = named<VersionEntry>(databaseOptions.versions);
  const protocol = named<VersionEntry>(databaseOptions.protocol);
  const meta = named<unknown>(databaseOptions.meta) as ConditionalHandle<unknown> | undefined;
  if (cells === undefined || versions === undefined || protocol === undefined || meta === undefined) {
    return undefined;
  }
  return { root: own, cells, versions, protocol, meta };
}

function openNamed(
  root: RootDatabase,
  own: Root,
  path: string,
  readOnly: boolean,
  openings: Openings,
): Databases {
  const databases = namedDatabases(root, own, {});
  if (databases === undefined) {
    throw new StoreDamagedError(
      `${path} is not a database of this package. Name another folder, or restore this one.`,
    );
  }
  if (readOnly) {
    const format = readFormat(databases);
    checkFormat(format, path);
    if (format !== formats.current) {
      throw new StoreVersionError(
        `The database in ${path} has layout ${format?.split(" ")[1]}, which an earlier version of the package wrote${format === formats.sealing ? ", or its upgrade was interrupted" : ""}. ` +
          `Open it once for writing: this upgrades it to layout ${formatVersion}.`,
      );
    }
    return databases;
  }
  const upgrade = readFormat(databases) === formats.first ? upgradeFrom1(root) : undefined;
  let format: string | undefined;
  let failure: unknown;
  databases.root.transactionSync(() => {
    format = readFormat(databases);
    try {
      if (format === undefined) {
        writeFormat(databases, formats.current);
      } else if (format === formats.first || format === formats.second) {
        upgrade?.();
        beginSealing(databases);
      }
      format = readFormat(databases);
    } catch (error) {
      failure = error;
    }
  });
  if (failure !== undefined) throw failure;
  checkFormat(format, path);
  if (format === formats.sealing) {
    // This can take long. Several processes may share the work.
    openings.withdraw();
    sealAll(root, own, databases);
  }
  return databases;
}

const knownFormats: ReadonlySet<string | undefined> = new Set(Object.values(formats));

function checkFormat(format: string | undefined, path: string): void {
  if (knownFormats.has(format)) return;
  const [name, version] = (format ?? "").split(" ");
  if (name === formatName && Number(version) > formatVersion) {
    throw new StoreVersionError(
      `The database in ${path} has layout ${version}, but this version of the package knows only ${formatVersion}. ` +
        "Nothing was changed. Upgrade the package.",
    );
  }
  throw new StoreDamagedError(
    `${path} is not a database of this package. Name another folder, or restore this one.`,
  );
}
