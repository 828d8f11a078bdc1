import { accessSync, closeSync, constants, existsSync, linkSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { StoreFullError } from "../../../errors/index.js";

export const lockFileName = "lock.mdb";
/** Of files that become the lock file; one can be left over if the process ends meanwhile. */
export const newLockFilePrefix = `${lockFileName}.new-`;

/** What LMDB's lock file takes: a head, and a slot for each reader. */
const headBytes = 208;
const slotBytes = 64;
const noSpace: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Makes the folder's lock file if there is none, with all its blocks. LMDB makes it as a hole and
 * writes to it through a memory map: on a full disk, such as after a restore from a backup, which
 * has no lock file, that ends the process by SIGBUS.
 *
 * The file gets its name when it is whole, so that a process which opens the folder at the same
 * time never sees a part of it.
 */
export function makeLockFile(folder: string, maxReaders: number): void {
  const path = join(folder, lockFileName);
  if (existsSync(path)) return;
  const made = join(folder, `${newLockFilePrefix}${process.pid}`);
  try {
    const file = openSync(made, "w");
    try {
      const zeros = Buffer.alloc(headBytes + maxReaders * slotBytes);
      for (let written = 0; written < zeros.length; ) written += writeSync(file, zeros, written);
    } finally {
      closeSync(file);
    }
    linkSync(made, path);
  } catch (error) {
    if (noSpace.has(codeOf(error))) {
      throw new StoreFullError(
        `The database in ${folder} could not be opened: no space is left for its lock file, ${lockFileName}. Free space and try again.`,
        { cause: error },
      );
    }
    // Another process has made it, or the file system has no links, or cannot be written: LMDB then
    // does what it can, and says why it cannot.
  } finally {
    try {
      rmSync(made, { force: true });
    } catch {
      // Nothing was made on a file system that can only be read.
    }
  }
}

/**
 * Whether LMDB has taken its lock on a folder that it has just opened to read. It goes without if
 * it may not write the file, or make it.
 */
export function hasLock(folder: string): boolean {
  try {
    // Not opened: to close it again would give back the locks that LMDB has on it.
    accessSync(join(folder, lockFileName), constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
