import {
  PercolatorError,
  StoreDamagedError,
  StoreError,
  StoreFullError,
  StoreVersionError,
} from "../../../errors/index.js";

/** LMDB's own codes, and those of the system, that say what is to be done. */
const noSpace = new Set([-30792, -30788, 28, 112, 122, 27]);
const damaged = new Set([-30797, -30796, -30793, -30779]);
const versionMismatch = -30794;
const lockTableFull = -30790;
const mapFailed = 12;
const noPermission = new Set([1, 13, 30]);
/**
 * A system's error in reading or writing; LMDB says so too where the system wrote less than it was
 * told.
 */
const inputOutput = 5;

/**
 * LMDB's answer to everything once it has declared its environment, what this process has of the
 * file, broken.
 */
export const panic = -30795;

/**
 * Whether LMDB says by `error` that its environment is broken. Its binding does not always pass the
 * number on.
 */
export function isPanic(error: unknown): boolean {
  return errorNumber(error) === panic || (error instanceof Error && error.message.includes("MDB_PANIC"));
}

/**
 * What LMDB's fork answers, at a commit or a put, where it has lost its way in its list of free
 * pages; mostly where several processes write. Of ours no key has a size that it does not take, no
 * put finds nothing, and what no put has failed of can be committed. Nothing of the transaction is
 * done.
 */
const freePagesLost = new Set([-30781, -30782, -30798]);

/**
 * Whether LMDB has lost its way in its list of free pages: opened anew, it reads that from the
 * file.
 */
export function isFreePagesLost(error: unknown): boolean {
  const code = errorNumber(error);
  return code !== undefined && freePagesLost.has(code);
}

/** The number of LMDB's or the system's error, where `error` has one. */
export function errorNumber(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "number" ? error.code : undefined;
}

/** The error to throw for one that LMDB threw while `doing` something to the database in `path`. */
export function storeError(error: unknown, path: string, doing: string): PercolatorError {
  if (error instanceof PercolatorError) return error;
  const code = errorNumber(error);
  const reason = error instanceof Error ? error.message : String(error);
  const what = `The database in ${path} could not ${doing}: ${reason}.`;
  const details = { cause: error };
  if (code === undefined) return new StoreError(what, details);
  if (noSpace.has(code)) {
    return new StoreFullError(
      `${what} No space is left; nothing was changed. Free space and try again.`,
      details,
    );
  }
  if (damaged.has(code)) {
    return new StoreDamagedError(`${what} Its files are damaged; restore them from a backup.`, details);
  }
  if (code === versionMismatch) {
    return new StoreVersionError(
      `${what} It was written by another version of LMDB; upgrade this package.`,
      details,
    );
  }
  if (code === lockTableFull) {
    return new StoreError(
      `${what} Too many processes read it at once; end some, or raise maxReaders.`,
      details,
    );
  }
  if (code === mapFailed) {
    return new StoreError(`${what} There is no address space or memory for its map; free memory.`, details);
  }
  if (noPermission.has(code)) {
    return new StoreError(`${what} Check the permissions of the folder and of the files in it.`, details);
  }
  if (code === inputOutput && doing.startsWith("read")) {
    return new StoreError(`${what} The disk does not give back what it holds; check the disk.`, details);
  }
  if (code === inputOutput) {
    return new StoreFullError(
      `${what} The system wrote less than it was told; nothing was changed. Most likely no space is left: free ` +
        "space and try again. If there is space, check the disk.",
      details,
    );
  }
  return new StoreError(what, details);
}

/** The error for bytes in LMDB's databases that nothing of this package has written. */
export function damagedStore(what: string): StoreDamagedError {
  return new StoreDamagedError(
    `The store holds ${what}, which cannot be: its files are damaged. Restore them from a backup.`,
  );
}
