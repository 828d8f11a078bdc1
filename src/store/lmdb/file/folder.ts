import { closeSync, fstatSync, openSync } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { PercolatorError, StoreDamagedError, StoreError, StoreVersionError } from "../../../errors/index.js";
import { makeFolders } from "../../make-folders.js";
import { databaseNames } from "../record/databases.js";
import { storeError } from "../record/errors.js";
import { bootNumber } from "./boot-number.js";
import { besideLockFile, lockFileName } from "./lock-file.js";
import { DataFile, type Meta, PageError, readsPages } from "./pages.js";

export const dataFileName = "data.mdb";
/** Files that operating systems put into folders. */
const ignoredFiles = new Set([lockFileName, ".DS_Store", "desktop.ini", "Thumbs.db", "lost+found"]);

/** The names of our own databases. A file with other names belongs to another program. */
const knownDatabases: ReadonlySet<string> = new Set([...databaseNames, "meta"]);

/** How many levels of each tree are checked when a database is opened. */
const checkedLevels = 1;
const allLevels = 40;
/**
 * How often opening repeats a check that failed, since another process may have replaced the
 * checked pages.
 */
const checkAttempts = 8;

/**
 * Returns the folder's real path, and makes the folder if it is missing and `create` is true.
 * Throws if the path cannot be a folder of this package.
 */
export async function prepareFolder(
  path: string,
  { create, readOnly }: { readonly create: boolean; readonly readOnly: boolean },
): Promise<string> {
  try {
    const known = await statistics(path);
    if (known === undefined) {
      if (!create) throw noDatabase(path);
      await makeFolder(path);
    } else if (!known.isDirectory()) {
      throw new StoreError(`${path} is a file, but a database is a folder. Name another path.`);
    }
    await checkFiles(path, create, readOnly);
    return await realpath(path);
  } catch (error) {
    throw systemError(error, path);
  }
}

/**
 * Makes a folder and those above it. Flushes the entry of each, since the machine may stop after the first
 * commit. The opening flushes the entry of the data file: see `settleFlushedHead`.
 */
async function makeFolder(path: string): Promise<void> {
  const first = await makeFolders(path);
  if (first === undefined) return;
  const highest = resolve(first);
  for (let made = resolve(path); made.length >= highest.length; made = dirname(made)) {
    try {
      const above = await open(dirname(made), "r");
      await above.sync().finally(() => above.close());
    } catch {
      // Some systems cannot flush a folder, and some users may not read the folder above.
    }
  }
}

async function statistics(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function checkFiles(path: string, create: boolean, readOnly: boolean): Promise<void> {
  const names = await readdir(path);
  if (names.includes(dataFileName)) {
    checkDataFile(join(path, dataFileName), readOnly);
    return;
  }
  const other = names.find((name) => !ignoredFiles.has(name) && !name.startsWith(besideLockFile));
  if (other !== undefined) {
    throw new StoreDamagedError(
      `${path} holds no database, but other files such as ${other}. Name an empty folder, or one that does not exist.`,
    );
  }
  if (!create) throw noDatabase(path);
}

/** LMDB would end the process over an empty file that it opens only for reading. */
function noDatabaseYet(path: string): StoreError {
  return new StoreError(
    `There is no database in ${path} yet: another process makes it now, or was interrupted when it did. Try again, or open ` +
      "it for writing.",
    { retryable: true },
  );
}

function noDatabase(path: string): StoreError {
  return new StoreError(
    `There is no database in ${path}. To create one, open it for writing or run \`percolator init\`.`,
  );
}

/**
 * Checks the data file before LMDB opens it, because LMDB ends the process over some kinds of
 * damage.
 */
function checkDataFile(path: string, readOnly: boolean): void {
  if (!readsPages) return;
  const file = openSync(path, "r");
  try {
    for (let attempt = 1; ; attempt++) {
      const data = new DataFile(file, fstatSync(file).size);
      // Another process has just made the file, and has not written to it yet.
      if (data.size === 0) {
        if (readOnly) throw noDatabaseYet(dirname(path));
        return;
      }
      let state: Meta | undefined;
      try {
        state = data.beginning(bootNumber());
        checkTrees(data, state);
        break;
      } catch (error) {
        // Another process may have made the file longer since this one read its size, or may have
        // committed.
        const longer = fstatSync(file).size > data.size;
        if (attempt < checkAttempts && (longer || (state !== undefined && changed(data, state)))) continue;
        throw refusal(error, path);
      }
    }
    if (readOnly) checkSettled(new DataFile(file, fstatSync(file).size), path);
  } finally {
    closeSync(file);
  }
}

/**
 * Throws if the file must first go back to its last flushed state, because the machine has stopped since
 * its newest one was written. LMDB goes back when it opens the file for writing. If it opens the file only
 * for reading, it reads the newest state, whose pages may not have reached the disk.
 *
 * A system without a boot number does not show whether the machine has stopped.
 */
function checkSettled(data: DataFile, path: string): void {
  const boot = bootNumber();
  const isUndone = data.newest().transaction > Number.MAX_SAFE_INTEGER;
  if (!isUndone && (boot === 0n || !data.goesBack(boot))) return;
  throw new StoreError(
    `The machine stopped while ${path} was written, or the file was copied then, so its newest state may be incomplete. ` +
      "Open the database once for writing, with a worker or `percolator doctor`, for example: this makes it go back to " +
      "the newest complete state. Nothing was changed.",
    { retryable: true },
  );
}

function checkTrees(data: DataFile, meta: Meta): void {
  // The file may end before its last page if that page is free. Then every used page must be within
  // the file, so all levels are checked.
  const levels = data.size < (meta.lastPage + 1) * meta.pageSize ? allLevels : checkedLevels;
  data.check(meta.main, allLevels);
  data.check(meta.free, levels, 1);
  const trees = data.trees(meta);
  const other = [...trees.keys()].find((name) => !knownDatabases.has(name));
  if (other !== undefined) throw new PageError("format", `it holds other databases, such as ${other}`);
  if (trees.size === 0 && meta.main.entries > 0) throw new PageError("format", "it holds other data");
  for (const tree of trees.values()) data.check(tree, levels);
}

/** Whether another process has committed since `state` was read. */
function changed(data: DataFile, state: Meta): boolean {
  try {
    return data.beginning(bootNumber()).transaction !== state.transaction;
  } catch {
    return false;
  }
}

function refusal(error: unknown, path: string): unknown {
  if (!(error instanceof PageError)) return error;
  const details = { cause: error };
  if (error.reason === "version") {
    return new StoreVersionError(
      `${path} was written by another version of LMDB (${error.message}). Upgrade this package.`,
      details,
    );
  }
  if (error.reason === "format") {
    return new StoreDamagedError(
      `${path} is not a database of this package: ${error.message}. Name another folder, or restore this one.`,
      details,
    );
  }
  return new StoreDamagedError(
    `${path} is damaged: ${error.message}. Nothing was changed. Restore it from a backup.`,
    details,
  );
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const advice: Readonly<Record<string, string>> = {
  EACCES: "This user has no permission for the folder. Grant it, or name another folder.",
  EPERM: "This user has no permission for the folder. Grant it, or name another folder.",
  EROFS: "The file system is read-only. Name another folder, or open the database with `readOnly`.",
  ENOTDIR: "A part of the path is a file. Name another path.",
  ENOSPC: "No space is left. Free space and try again.",
};

function systemError(error: unknown, path: string): unknown {
  if (error instanceof PercolatorError) return error;
  const code = codeOf(error);
  if (code === undefined || !(error instanceof Error)) return storeError(error, path, "be opened");
  return new StoreError(
    `The database in ${path} could not be opened: ${error.message}. ${advice[code] ?? ""}`.trim(),
    {
      cause: error,
    },
  );
}
