import {
  PercolatorError,
  StoreDamagedError,
  StoreError,
  StoreFullError,
  StoreVersionError,
} from "../../../errors/index.js";

/** Codes of LMDB and of the system that need specific advice. */
const noSpace = new Set([-30792, -30788, 28, 112, 122, 27]);
const damaged = new Set([-30797, -30796, -30793, -30779]);
const versionMismatch = -30794;
const lockTableFull = -30790;
const mapFailed = 12;
const noPermission = new Set([1, 13]);
const readOnlyFileSystem = 30;
/**
 * The system's code for a failed read or write. LMDB also reports it if the system wrote fewer
 * bytes than LMDB asked for.
 */
const inputOutput = 5;

/** LMDB's answer to every call once this process's environment is broken. */
export const panic = -30795;

/**
 * Whether `error` means that LMDB's environment is broken. LMDB's binding does not always pass the
 * code on.
 */
export function isPanic(error: unknown): boolean {
  return errorNumber(error) === panic || (error instanceof Error && error.message.includes("MDB_PANIC"));
}

/**
 * Codes with which LMDB's fork fails a commit or a put after its list of free pages has become
 * inconsistent, mostly if several processes write. Nothing else can cause them: our keys have valid
 * sizes, our puts always find their place, and a transaction without a failed put can be committed.
 * LMDB applies nothing of a transaction that fails in this way.
 */
const freePagesLost = new Set([-30781, -30782, -30798]);

/**
 * Whether LMDB's list of free pages is inconsistent. A reopened LMDB reads the list from the file
 * again.
 */
export function isFreePagesLost(error: unknown): boolean {
  const code = errorNumber(error);
  return code !== undefined && freePagesLost.has(code);
}

/** The code of an error of LMDB or of the system. Undefined if it has none. */
export function errorNumber(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown };
  if (typeof code === "number") return code;
  // An error of Node's own calls has the negative number of the system.
  return typeof errno === "number" ? -errno : undefined;
}

/**
 * The error to throw for an error of LMDB, which occurred while `doing` something to the database
 * in `path`.
 */
export function storeError(error: unknown, path: string, doing: string): PercolatorError {
  if (error instanceof PercolatorError) return error;
  const code = errorNumber(error);
  const reason = error instanceof Error ? error.message : String(error);
  const what = `The database in ${path} could not ${doing}: ${reason}.`;
  const details = { cause: error };
  if (code === undefined) return new StoreError(what, details);
  if (noSpace.has(code)) {
    return new StoreFullError(
      `${what} No space is left. Nothing was changed. Free space and try again.`,
      details,
    );
  }
  if (damaged.has(code)) {
    return new StoreDamagedError(`${what} Its files are damaged. Restore them from a backup.`, details);
  }
  if (code === versionMismatch) {
    return new StoreVersionError(`${what} Another version of LMDB wrote it. Upgrade this package.`, details);
  }
  if (code === lockTableFull) {
    return new StoreError(
      `${what} Too many processes and snapshots read it at once. End some, or raise \`maxReaders\`.`,
      details,
    );
  }
  if (code === mapFailed) {
    return new StoreError(`${what} There is no address space or memory for its map. Free memory.`, details);
  }
  if (noPermission.has(code)) {
    return new StoreError(`${what} Check the permissions of the folder and of the files in it.`, details);
  }
  if (code === readOnlyFileSystem) {
    return new StoreError(
      `${what} The file system is read-only. Name another folder, or open the database with \`readOnly\`.`,
      details,
    );
  }
  if (code === inputOutput && doing.startsWith("read")) {
    return new StoreError(`${what} The disk failed to read. Check the disk.`, details);
  }
  if (code === inputOutput) {
    return new StoreFullError(
      `${what} The system wrote only a part. Nothing was changed. Most likely no space is left: free ` +
        "space and try again. If there is space, check the disk.",
      details,
    );
  }
  return new StoreError(what, details);
}

/** The error for bytes in LMDB's databases that this package never writes. */
export function damagedStore(what: string): StoreDamagedError {
  return new StoreDamagedError(
    `The store holds ${what}, so its files are damaged. Restore them from a backup.`,
  );
}

/**
 * Marks a rejection of the binding as handled. The rejection's error holds a second promise that
 * rejects as well.
 */
export function forget(error: unknown): void {
  if (typeof error !== "object" || error === null || !("commitError" in error)) return;
  Promise.resolve(error.commitError).catch(() => undefined);
}
