import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import type { Environment } from "../../environment/index.js";
import { StoreDamagedError, StoreError, StoreVersionError } from "../../errors/index.js";
import { type Databases, databaseOptions, type Handle, type Root } from "./databases.js";
import { storeError } from "./errors.js";
import { settleFlushedHead } from "./flushed-head.js";
import { type Flushes, fileFlushes } from "./flushes.js";
import { dataFileName, prepareFolder } from "./folder.js";
import { formatName, formatVersion } from "./layout.js";
import { WriteQueue } from "./queue.js";
import { readFormat, writeFormat } from "./state.js";

export interface EnvironmentOptions {
  readonly readOnly: boolean;
  /** Makes the database where there is none. */
  readonly create: boolean;
  readonly noReadAhead: boolean;
  readonly mapSize: number;
  readonly maxReaders: number;
}

/** One open folder, shared by all stores of this process that are open on it. */
export interface SharedFolder {
  readonly path: string;
  readonly readOnly: boolean;
  readonly databases: Databases;
  readonly queue: WriteQueue;
  /** Undefined where it is only read. */
  readonly flushes: Flushes | undefined;
  /** Stores that are open on it. */
  users: number;
}

const folders = new Map<string, SharedFolder>();
/** Folders that are being opened or closed, one step after the other. */
const turns = new Map<string, Promise<unknown>>();

/** Opens the folder, or joins those who have it open. */
export async function acquireFolder(
  path: string,
  options: EnvironmentOptions,
  environment: Environment,
): Promise<SharedFolder> {
  const real = await prepareFolder(path, options.create);
  return inTurn(real, () => {
    const known = folders.get(real);
    if (known !== undefined) {
      if (known.readOnly && !options.readOnly) {
        throw new StoreError(
          `The database in ${path} is open readOnly in this process; close that store first.`,
        );
      }
      known.users++;
      return known;
    }
    const databases = openDatabases(real, options);
    const flushes = options.readOnly ? undefined : fileFlushes(databases.root, join(real, dataFileName));
    const queue = new WriteQueue(databases, environment, real, flushes);
    const shared = { path: real, readOnly: options.readOnly, databases, queue, flushes, users: 1 };
    folders.set(real, shared);
    return shared;
  });
}

/** Closes the folder where no store is left on it. */
export async function releaseFolder(shared: SharedFolder): Promise<void> {
  await inTurn(shared.path, async () => {
    shared.users--;
    if (shared.users > 0) return;
    folders.delete(shared.path);
    await shared.queue.idle();
    shared.flushes?.close();
    await shared.databases.root.close();
  });
}

async function inTurn<T>(path: string, action: () => T | Promise<T>): Promise<T> {
  const turn = (turns.get(path) ?? Promise.resolve()).then(action, action);
  turns.set(path, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(path) === turn) turns.delete(path);
  }
}

function openDatabases(path: string, options: EnvironmentOptions): Databases {
  let root: RootDatabase | undefined;
  try {
    root = open({
      path,
      noSubdir: false,
      encoding: "binary",
      keyEncoding: "binary",
      maxDbs: 8,
      noMemInit: true,
      // Its batches are not needed, and where one cannot be committed they leave a rejected promise to nobody.
      eventTurnBatching: false,
      mapSize: options.mapSize,
      maxReaders: options.maxReaders,
      readOnly: options.readOnly,
      ...(options.noReadAhead ? { noReadAhead: true } : {}),
    } as Parameters<typeof open>[0] & { path: string });
    if (!options.readOnly) settleFlushedHead(root as unknown as Root, join(path, dataFileName));
    return openNamed(root, path, options.readOnly);
  } catch (error) {
    root?.close().catch(() => undefined);
    throw storeError(error, path, "be opened");
  }
}

function openNamed(root: RootDatabase, path: string, readOnly: boolean): Databases {
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
    root: root as unknown as Root,
    cells: named(databaseOptions.cells),
    versions: named(databaseOptions.versions),
    protocol: named(databaseOptions.protocol),
    meta: named(databaseOptions.meta),
  };
  if (readOnly) {
    checkFormat(readFormat(databases), path);
    return databases;
  }
  let format: string | undefined;
  databases.root.transactionSync(() => {
    format = readFormat(databases);
    if (format === undefined) {
      format = `${formatName} ${formatVersion}`;
      writeFormat(databases, format);
    }
  });
  checkFormat(format, path);
  return databases;
}

function checkFormat(format: string | undefined, path: string): void {
  const [name, version] = (format ?? "").split(" ");
  if (name !== formatName || !Number.isInteger(Number(version))) {
    throw new StoreDamagedError(
      `${path} is no database of this package; name another folder, or restore this one.`,
    );
  }
  if (Number(version) > formatVersion) {
    throw new StoreVersionError(
      `The database in ${path} has layout ${version}, and this version of the package knows ${formatVersion}. ` +
        "Upgrade the package; nothing was changed.",
    );
  }
}
