import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { StoreDamagedError, StoreVersionError } from "../../errors/index.js";
import { type Databases, databaseOptions, type Handle, type Root } from "./databases.js";
import { storeError } from "./errors.js";
import { guardExit } from "./exit-guard.js";
import { settleFlushedHead } from "./flushed-head.js";
import { dataFileName } from "./folder.js";
import { formatName, formatVersion } from "./layout.js";
import { formats, readFormat, writeFormat } from "./state.js";
import { beginSealing, sealAll, upgradeFrom1 } from "./upgrade.js";
import { type NativeRoot, Writing } from "./writing.js";

export interface EnvironmentOptions {
  readonly readOnly: boolean;
  /** Makes the database where there is none. */
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

/** Opens LMDB's databases in the folder. Other threads of this process share the environment. */
export function openDatabases(path: string, options: EnvironmentOptions): Opened {
  let root: RootDatabase | undefined;
  guardExit();
  try {
    root = open(nativeOptions(path, options));
    const writing = new Writing(root as unknown as NativeRoot);
    const own = rootOf(root, writing);
    if (!options.readOnly) settleFlushedHead(own, join(path, dataFileName));
    return { databases: openNamed(root, own, path, options.readOnly), writing };
  } catch (error) {
    root?.close().catch(() => undefined);
    throw storeError(error, path, "be opened");
  }
}

function nativeOptions(path: string, options: EnvironmentOptions) {
  return {
    path,
    noSubdir: false,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 8,
    noMemInit: true,
    // For the statistics; a few looks at the clock for each transaction.
    trackMetrics: true,
    // Its batches are not needed, and where one cannot be committed they leave a rejected promise to nobody.
    eventTurnBatching: false,
    mapSize: options.mapSize,
    maxReaders: options.maxReaders,
    readOnly: options.readOnly,
    ...(options.noReadAhead ? { noReadAhead: true } : {}),
  } as Parameters<typeof open>[0] & { path: string };
}

function rootOf(root: RootDatabase, writing: Writing): Root {
  const native = root as unknown as Omit<Root, "transaction" | "thread"> & NativeRoot;
  return {
    transaction: (action) => writing.transaction(action),
    transactionSync: (action) => native.transactionSync(action),
    getWriteTxnId: () => native.getWriteTxnId(),
    thread: () => writing.thread,
    resetReadTxn: () => native.resetReadTxn(),
    readerCheck: () => native.readerCheck(),
    env: {
      sync(callback) {
        if (callback === undefined) native.env.sync();
        else writing.sync(callback);
      },
    },
    close: () => writing.close(),
  };
}

/** What is used of the binding's class of databases, which opens the environment before there is any. */
interface DatabaseClass {
  new (name: null, options: object): unknown;
  readonly prototype: { close(this: { isRoot: true }): Promise<void> };
}

/**
 * Throws where this process still has the folder's broken environment: another thread has it open, and to write in it would
 * end the process. A look at it for reading does no harm.
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

function openNamed(root: RootDatabase, own: Root, path: string, readOnly: boolean): Databases {
  const named = <Entry>(options: object & { name: string }) => {
    const handle: unknown = root.openDB(options as Parameters<RootDatabase["openDB"]>[0] & { name: string });
    if (handle === undefined) {
      throw new StoreDamagedError(
        `${path} is no database of this package; name another folder, or restore this one.`,
      );
    }
    return handle as Handle<Entry>;
  };
  const databases: Databases = {
    root: own,
    cells: named(databaseOptions.cells),
    versions: named(databaseOptions.versions),
    protocol: named(databaseOptions.protocol),
    meta: named(databaseOptions.meta),
  };
  if (readOnly) {
    const format = readFormat(databases);
    checkFormat(format, path);
    if (format !== formats.current) {
      throw new StoreVersionError(
        `The database in ${path} has layout ${format?.split(" ")[1]}, which an earlier version of the package wrote${format === formats.sealing ? ", or its upgrade was interrupted" : ""}. ` +
          `Open it once for writing: it becomes layout ${formatVersion}.`,
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
  if (format === formats.sealing) sealAll(root, own, databases);
  return databases;
}

const knownFormats: ReadonlySet<string | undefined> = new Set(Object.values(formats));

function checkFormat(format: string | undefined, path: string): void {
  if (knownFormats.has(format)) return;
  const [name, version] = (format ?? "").split(" ");
  if (name === formatName && Number(version) > formatVersion) {
    throw new StoreVersionError(
      `The database in ${path} has layout ${version}, and this version of the package knows ${formatVersion}. ` +
        "Upgrade the package; nothing was changed.",
    );
  }
  throw new StoreDamagedError(
    `${path} is no database of this package; name another folder, or restore this one.`,
  );
}
