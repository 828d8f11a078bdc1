import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { StoreFullError } from "../../../errors/index.js";
import { writeMapped } from "./lock-holder.js";

export const lockFileName = "lock.mdb";
/**
 * Prefix of other files that belong to the lock file: those that become the lock file, and the
 * announcements of `openings.ts`. They are left over if their process ends early.
 */
export const besideLockFile = `${lockFileName}.`;

/** The size of LMDB's lock file: a head, and a slot for each reader. */
const headBytes = 208;
const slotBytes = 64;
const noSpace: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Makes the folder's lock file with all its blocks, if it is missing. LMDB would make it as a
 * sparse file and write to it through a memory map. On a full disk, that ends the process with
 * SIGBUS. A folder that was restored from a backup, for example, has no lock file.
 *
 * The file gets its name only when it is complete. So a process that opens the folder at the same
 * time never sees an incomplete file.
 */
export function makeLockFile(folder: string, maxReaders: number): void {
  const path = join(folder, lockFileName);
  if (existsSync(path)) return;
  const made = join(folder, `${besideLockFile}new-${process.pid}`);
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
    // Another process has made the file, or the file system has no links or is read-only. If the
    // file is still missing, LMDB makes it, or reports why it cannot.
  } finally {
    try {
      rmSync(made, { force: true });
    } catch {
      // The file system is read-only, so no file was made.
    }
  }
}

/**
 * Whether LMDB holds its lock on a folder that it has just opened for reading. LMDB reads without a
 * lock if it may not write or make the lock file.
 */
export function hasLock(folder: string): boolean {
  try {
    // This must not open the file: closing it again would release the locks that LMDB holds on it.
    accessSync(join(folder, lockFileName), constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where the lock file has the number of LMDB's last transaction. */
const lastTransactionAt = 8;
const repairs = new Map<string, number>();

/**
 * Writes the number of LMDB's last transaction into the lock file. The caller holds LMDB's write
 * lock, so no other process changes the number.
 */
export function setLastTransaction(folder: string, transaction: number): void {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(transaction));
  const path = join(folder, lockFileName);
  if (writeMapped(path, bytes, lastTransactionAt)) return;
  const { ino } = statSync(path, { bigint: true });
  const id = `${path} ${ino}`;
  // Closing the file would release this process's locks on it, so it stays open. But a worker thread
  // closes at its end what it has opened.
  const file = repairs.get(id) ?? openSync(path, "r+");
  repairs.set(id, file);
  writeSync(file, bytes, 0, bytes.length, lastTransactionAt);
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
