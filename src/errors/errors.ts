/**
 * Every error that the package throws. A program tells errors apart by `code`, which is stable, or
 * by class. The message names the table, row and column, and says what to do.
 */

/** The codes of all errors: the values of `code` of a {@link PercolatorError}. */
export type ErrorCode =
  | "CONFLICT"
  | "COMMIT_OUTCOME_UNKNOWN"
  | "STALE_SNAPSHOT"
  | "TIMEOUT"
  | "ABORTED"
  | "INVALID_VALUE"
  | "NEWER_VALUE"
  | "INVALID_KEY"
  | "INVALID_ARGUMENT"
  | "LIMIT_EXCEEDED"
  | "SCHEMA"
  | "OBSERVER"
  | "DERIVATION_FAILED"
  | "STORE"
  | "STORE_BUSY"
  | "STORE_FULL"
  | "STORE_MOVED"
  | "STORE_CHANGED"
  | "STORE_DAMAGED"
  | "STORE_VERSION"
  | "EXPORT_DAMAGED"
  | "BACKUP"
  | "BACKUP_BUSY"
  | "BACKUP_FULL"
  | "BACKUP_ACCESS"
  | "BACKUP_DAMAGED"
  | "NOT_LEADER"
  | "ORACLE_UNAVAILABLE"
  | "COORDINATOR"
  | "MISSING_PACKAGE"
  | "UNAWAITED_CALL"
  | "LOAD"
  | "CLOSED"
  | "INTERNAL";

/** The details that every error takes besides its message. */
export interface ErrorDetails {
  readonly cause?: unknown;
}

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
const brand = Symbol.for("percolatordb.error");

/**
 * The base class of all errors of this package. Errors of another copy of the package are instances
 * of it too, but not of the other classes: compare their `code`.
 *
 * @example
 * try {
 *   await db.transact((tx) => tx.set(pages.visits, "/", 1));
 * } catch (error) {
 *   if (!(error instanceof PercolatorError && error.retryable)) throw error;
 * }
 */
export abstract class PercolatorError extends Error {
  /** A stable name of the failure. Programs may switch on it. */
  abstract readonly code: ErrorCode;
  /** Whether the same call, repeated from its start, may succeed. Default: false. */
  readonly retryable: boolean = false;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
  }

  /** @internal */
  get [brand](): true {
    return true;
  }

  /** @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // Only this class has a brand of its own. Its name here would make a bundler rename it.
    // biome-ignore lint/complexity/noThisInStatic: the subclasses inherit this method.
    const { prototype } = this;
    try {
      // biome-ignore lint/complexity/noThisInStatic: as above.
      const isOwn = Function.prototype[Symbol.hasInstance].call(this, value);
      return (
        isOwn ||
        (Object.hasOwn(prototype, brand) && value instanceof Error && brand in value && "code" in value)
      );
    } catch {
      // A proxy may throw when it is inspected. Programs can throw one.
      return false;
    }
  }
}

export function isRetryable(error: unknown): boolean {
  return error instanceof PercolatorError && error.retryable;
}

/** The cell and the transactions of a {@link ConflictError}. */
export interface ConflictDetails extends ErrorDetails {
  readonly table?: string;
  readonly row?: string;
  readonly column?: string;
  /** Start timestamp of the transaction that lost. */
  readonly startTimestamp?: number;
  /**
   * Commit timestamp of the transaction that won, or its start timestamp if it only holds a lock.
   */
  readonly winnerTimestamp?: number;
}

/**
 * Another transaction wrote a cell that this one writes, after this one had started. Under
 * `serializable`, also: another transaction changed what this one read. Nothing was written.
 * `db.transact` runs the function again by itself. After `db.begin`, begin a new transaction.
 */
export class ConflictError extends PercolatorError {
  readonly code = "CONFLICT";
  override readonly retryable = true;
  readonly table: string | undefined;
  readonly row: string | undefined;
  readonly column: string | undefined;
  readonly startTimestamp: number | undefined;
  readonly winnerTimestamp: number | undefined;

  constructor(message: string, details: ConflictDetails = {}) {
    super(message, details);
    this.table = details.table;
    this.row = details.row;
    this.column = details.column;
    this.startTimestamp = details.startTimestamp;
    this.winnerTimestamp = details.winnerTimestamp;
  }
}

/**
 * The store did not answer, and nothing can tell any more whether the transaction committed. Read
 * the cells that the transaction would have written, and decide whether to repeat the transaction.
 */
export class CommitOutcomeUnknownError extends PercolatorError {
  readonly code = "COMMIT_OUTCOME_UNKNOWN";
}

/**
 * The snapshot is older than what garbage collection keeps. Take a new one, or open the database
 * with a longer `retentionMs`.
 */
export class StaleSnapshotError extends PercolatorError {
  readonly code = "STALE_SNAPSHOT";
  override readonly retryable = true;
}

/** A deadline passed, or the time of an `AbortSignal.timeout()`. Nothing was written, unless the message says otherwise. */
export class TimeoutError extends PercolatorError {
  readonly code = "TIMEOUT";
}

/** The caller's AbortSignal was aborted. `cause` is the signal's reason. */
export class AbortedError extends PercolatorError {
  readonly code = "ABORTED";
}

/** The column's codec or schema refuses a value, when it is written or when it is read. */
export class InvalidValueError extends PercolatorError {
  readonly code = "INVALID_VALUE";
}

/** The versions of a {@link NewerValueError}. */
export interface NewerValueDetails extends ErrorDetails {
  /** The version of the stored value. */
  readonly version?: number | undefined;
  /** The newest version that this program reads. */
  readonly known?: number | undefined;
}

/**
 * A newer program wrote the value, in a version of its column that this program does not know.
 * Nothing is wrong with the value. Deploy the newer program here too. An observer's run that fails
 * with this error is repeated until a newer program handles the change, and its change is not parked.
 */
export class NewerValueError extends PercolatorError {
  readonly code = "NEWER_VALUE";
  readonly version: number | undefined;
  readonly known: number | undefined;

  constructor(message: string, details: NewerValueDetails = {}) {
    super(message, details);
    this.version = details.version;
    this.known = details.known;
  }
}

/** A row key or qualifier is not valid: it has the wrong type, a lone surrogate, or is too long. */
export class InvalidKeyError extends PercolatorError {
  readonly code = "INVALID_KEY";
}

/** An option or argument is not valid. The message says what the call takes. */
export class InvalidArgumentError extends PercolatorError {
  readonly code = "INVALID_ARGUMENT";
}

/** A documented limit was exceeded, such as the number of writes in one transaction. */
export class LimitExceededError extends PercolatorError {
  readonly code = "LIMIT_EXCEEDED";
}

/**
 * A transaction wrote in the range of an unfinished bulk load, or a bulk load cannot begin or
 * continue. The transaction has written nothing. Run it again when the load is published or
 * discarded.
 */
export class LoadError extends PercolatorError {
  readonly code = "LOAD";
}

/**
 * A table or column contradicts what the database has recorded, or the database does not know it.
 */
export class SchemaError extends PercolatorError {
  readonly code = "SCHEMA";
}

/**
 * Observers contradict each other or the registry, a run goes on after its timeout, or no live
 * process runs an observer that is due.
 */
export class ObserverError extends PercolatorError {
  readonly code = "OBSERVER";
}

/** A change that an observer has given up, in a {@link DerivationFailedError}. */
export interface FailedDerivation {
  readonly observer: string;
  readonly table: string;
  /** The row's key. */
  readonly row: unknown;
  /** The name of the column, family or signal. */
  readonly column: string;
  /** The qualifier of a family's cell. Undefined for a column and a signal. */
  readonly qualifier: string | undefined;
  /** The message of the observer's last error. */
  readonly error: string;
}

/**
 * `db.settled` cannot resolve, because observers have failed on changes that the commit caused, and
 * the changes are parked. Retry them, and call it again.
 */
export class DerivationFailedError extends PercolatorError {
  readonly code = "DERIVATION_FAILED";
  /** The parked changes. There may be more, of which these keep the observers from knowing. */
  readonly parked: readonly FailedDerivation[];

  constructor(message: string, parked: readonly FailedDerivation[]) {
    super(message);
    this.parked = parked;
  }
}

/** The details that a {@link StoreError} takes besides its message. */
export interface StoreErrorDetails extends ErrorDetails {
  /** Whether this is an outage: the store did not answer, and may answer later. Default: false. */
  readonly retryable?: boolean | undefined;
}

/**
 * The store failed. The transaction did not happen, unless the message says otherwise. `retryable`
 * is true if the store had an outage, and false if it refused the call. After an outage,
 * `db.transact` runs the function again until its deadline.
 */
export class StoreError extends PercolatorError {
  readonly code: ErrorCode = "STORE";
  override readonly retryable: boolean;

  constructor(message: string, details: StoreErrorDetails = {}) {
    super(message, details);
    this.retryable = details.retryable ?? false;
  }
}

/**
 * The disk or quota has no space left. The transaction failed, and the database stays usable. Free
 * space and try again.
 */
export class StoreFullError extends StoreError {
  override readonly code = "STORE_FULL";
}

/** The process that keeps this one from writing to an embedded database. */
export interface StoreBusyDetails extends ErrorDetails {
  /** Process id of the process that holds the lock. */
  readonly process?: number;
  /**
   * How long this process has seen the other process hold the lock, in milliseconds. The other
   * process may have held it for longer.
   */
  readonly heldMs?: number;
}

/**
 * Another process has held a lock of an embedded database for 10 s without progress: it was
 * stopped, or its event loop is blocked. `open` waits at most 1 s, and fails only if it must make or
 * convert the database. The call that rejects with this error wrote nothing. Continue that process
 * or end it.
 */
export class StoreBusyError extends StoreError {
  override readonly code = "STORE_BUSY";
  readonly process: number | undefined;
  readonly heldMs: number | undefined;

  constructor(message: string, details: StoreBusyDetails = {}) {
    super(message, details);
    this.process = details.process;
    this.heldMs = details.heldMs;
  }
}

/** The store's content cannot be read. It is damaged, or it is not a database of this package. */
export class StoreDamagedError extends StoreError {
  override readonly code = "STORE_DAMAGED";
}

/**
 * A file of an embedded database was deleted, renamed or replaced while this process had it open.
 * The call that rejects with this error wrote nothing. If the files vanish before a commit is
 * acknowledged, that commit rejects with a `CommitOutcomeUnknownError`, and later calls with this
 * error. End all processes of the database, put the file back, and start them again.
 */
export class StoreMovedError extends StoreError {
  override readonly code = "STORE_MOVED";
}

/**
 * Another process wrote to an embedded database while this one read it without a lock. A process
 * reads without a lock if the folder is on a read-only file system, or if its user may not write
 * `lock.mdb`. LMDB may have reused the pages that were read, so the call returns nothing of them.
 * Open the database again, or let this process write `lock.mdb`.
 */
export class StoreChangedError extends StoreError {
  override readonly code = "STORE_CHANGED";
}

/** A newer version of this package wrote the database, or the entry of a feed. Upgrade the package. */
export class StoreVersionError extends StoreError {
  override readonly code = "STORE_VERSION";
}

/**
 * A file is not an export, or it is damaged or cut short. The message names the damaged place.
 * Nothing after that place was used.
 */
export class ExportDamagedError extends PercolatorError {
  readonly code = "EXPORT_DAMAGED";
}

/**
 * A backup, a restore or a compaction could not begin or go on: the place of the backups holds
 * something else, has no fitting backup, or does not answer, or the folder to write into is not empty.
 * The message says what to do. Its subclasses are the other failures of backups.
 */
export class BackupError extends PercolatorError {
  readonly code: ErrorCode = "BACKUP";
}

/**
 * A part of a backup is missing or damaged. The message names it. Restore an earlier backup, and
 * make a new one.
 */
export class BackupDamagedError extends BackupError {
  override readonly code = "BACKUP_DAMAGED";
}

/**
 * Another process writes backups to this place, or this one lost the place to it. The backup that was
 * under way does not exist. Earlier backups are intact. Let only one process write to a place.
 */
export class BackupBusyError extends BackupError {
  override readonly code = "BACKUP_BUSY";
}

/**
 * The disk or the bucket of the backups, or the disk of the folder that a restore writes, is full. A
 * backup that failed is removed from the place, and earlier ones are intact. A restore has left
 * nothing. Free space there, or raise the quota of the bucket.
 */
export class BackupFullError extends BackupError {
  override readonly code = "BACKUP_FULL";
}

/**
 * The place of the backups, or the folder that a restore writes, cannot be read or written by this
 * process: a permission is missing, the file system is read-only, or the bucket refuses the keys.
 * Nothing was changed.
 */
export class BackupAccessError extends BackupError {
  override readonly code = "BACKUP_ACCESS";
}

/** The details of a {@link NotLeaderError}. */
export interface NotLeaderDetails extends ErrorDetails {
  /** Name of the candidate that leads. Undefined if this one does not know it. */
  readonly leader?: string | undefined;
}

/**
 * This candidate does not lead the oracle, or cannot be sure that it does. It gave out no
 * timestamp. Ask another candidate.
 */
export class NotLeaderError extends PercolatorError {
  readonly code = "NOT_LEADER";
  override readonly retryable = true;
  /** Name of the candidate that leads, as far as this one knows. */
  readonly leader: string | undefined;

  constructor(message: string, details: NotLeaderDetails = {}) {
    super(message, details);
    this.leader = details.leader;
  }
}

/**
 * The oracle, or the store beneath it, did not answer in time. No timestamp was given out. Ask
 * again.
 */
export class OracleUnavailableError extends PercolatorError {
  readonly code = "ORACLE_UNAVAILABLE";
  override readonly retryable = true;
}

/**
 * The kinds of mismatch between a coordinator and its client: see {@link CoordinatorError.reason}.
 */
export type CoordinatorFault = "token" | "tls" | "version" | "cluster" | "message" | "use";

/** The details of a {@link CoordinatorError}. */
export interface CoordinatorDetails extends ErrorDetails {
  readonly reason?: CoordinatorFault | undefined;
}

/**
 * A coordinator and its client do not fit, so a repeated call fails as well. The token is wrong,
 * only one side uses TLS, a certificate is not trusted, the versions or services differ, they belong
 * to different databases, or a message cannot be read.
 */
export class CoordinatorError extends PercolatorError {
  readonly code = "COORDINATOR";
  readonly reason: CoordinatorFault;

  constructor(message: string, details: CoordinatorDetails = {}) {
    super(message, details);
    this.reason = details.reason ?? "use";
  }
}

/** The package that a {@link MissingPackageError} is about. */
export interface MissingPackageDetails extends ErrorDetails {
  /** The package's name, as `npm install` takes it. */
  readonly package?: string | undefined;
}

/**
 * The program uses a part of this package that needs another package, which is not installed or
 * cannot be loaded. Packages that only some programs need are optional peers. The message has the
 * command that installs all packages that the part needs.
 */
export class MissingPackageError extends PercolatorError {
  readonly code = "MISSING_PACKAGE";
  readonly package: string | undefined;

  constructor(message: string, details: MissingPackageDetails = {}) {
    super(message, details);
    this.package = details.package;
  }
}

/**
 * The function of a transaction or an observer returned before its calls on the transaction were
 * answered: an `await` is missing. Nothing was written.
 */
export class UnawaitedCallError extends PercolatorError {
  readonly code = "UNAWAITED_CALL";
}

/** The database, transaction, snapshot or worker was closed, committed or rolled back before. */
export class ClosedError extends PercolatorError {
  readonly code = "CLOSED";
}

/** A broken assumption inside this package: please report it. */
export class InternalError extends PercolatorError {
  readonly code = "INTERNAL";
}
