/**
 * Every error that the package throws, in one place. A program tells them apart by `code`, which is
 * stable, or by class. The message names the table, row and column concerned, and says what to do.
 */

/** The codes of all errors; `code` of a {@link PercolatorError} is one of these. */
export type ErrorCode =
  | "CONFLICT"
  | "COMMIT_OUTCOME_UNKNOWN"
  | "STALE_SNAPSHOT"
  | "TIMEOUT"
  | "ABORTED"
  | "INVALID_VALUE"
  | "INVALID_KEY"
  | "INVALID_ARGUMENT"
  | "LIMIT_EXCEEDED"
  | "SCHEMA"
  | "OBSERVER"
  | "STORE"
  | "STORE_BUSY"
  | "STORE_FULL"
  | "STORE_MOVED"
  | "STORE_CHANGED"
  | "STORE_DAMAGED"
  | "STORE_VERSION"
  | "EXPORT_DAMAGED"
  | "NOT_LEADER"
  | "ORACLE_UNAVAILABLE"
  | "COORDINATOR"
  | "MISSING_PACKAGE"
  | "UNAWAITED_CALL"
  | "CLOSED"
  | "INTERNAL";

/** What every error may be given besides its message. */
export interface ErrorDetails {
  readonly cause?: unknown;
}

/** Base of all errors of this package. */
export abstract class PercolatorError extends Error {
  /** Stable; programs may switch on it. */
  abstract readonly code: ErrorCode;
  /** Whether doing the same again, from the start, may succeed. */
  readonly retryable: boolean = false;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
  }
}

/** Where a conflict was met, and with whom. */
export interface ConflictDetails extends ErrorDetails {
  readonly table?: string;
  readonly row?: string;
  readonly column?: string;
  /** Start timestamp of the transaction that lost. */
  readonly startTimestamp?: number;
  /**
   * Commit timestamp of the transaction that won, or start timestamp where it only holds a lock.
   */
  readonly winnerTimestamp?: number;
}

/**
 * Another transaction wrote (or, under `serializable`, changed what was read) after this one had
 * started. Nothing was written. `db.transact` runs the function again by itself; by hand, begin a
 * new transaction.
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
 * The store did not answer, and whether the transaction committed can no longer be found out. Read,
 * and decide.
 */
export class CommitOutcomeUnknownError extends PercolatorError {
  readonly code = "COMMIT_OUTCOME_UNKNOWN";
}

/**
 * The snapshot is older than what collection keeps. Take a new one, or open with a longer
 * `retentionMs`.
 */
export class StaleSnapshotError extends PercolatorError {
  readonly code = "STALE_SNAPSHOT";
  override readonly retryable = true;
}

/** A deadline passed. Nothing was written, unless the message says otherwise. */
export class TimeoutError extends PercolatorError {
  readonly code = "TIMEOUT";
}

/** The caller's AbortSignal was aborted; `cause` is its reason. */
export class AbortedError extends PercolatorError {
  readonly code = "ABORTED";
}

/** A value that its column's codec or schema refuses, on writing or on reading. */
export class InvalidValueError extends PercolatorError {
  readonly code = "INVALID_VALUE";
}

/** A row key or qualifier that cannot be one: wrong type, a lone surrogate, too long. */
export class InvalidKeyError extends PercolatorError {
  readonly code = "INVALID_KEY";
}

/** An option or argument that cannot be meant. */
export class InvalidArgumentError extends PercolatorError {
  readonly code = "INVALID_ARGUMENT";
}

/** More than a documented limit allows: too many writes in one transaction, for example. */
export class LimitExceededError extends PercolatorError {
  readonly code = "LIMIT_EXCEEDED";
}

/** Tables or columns that contradict what the database has recorded, or that it does not know. */
export class SchemaError extends PercolatorError {
  readonly code = "SCHEMA";
}

/** Observers that contradict each other or the registry, or a run that was fenced. */
export class ObserverError extends PercolatorError {
  readonly code = "OBSERVER";
}

/** What a {@link StoreError} is given besides its message. */
export interface StoreErrorDetails extends ErrorDetails {
  /** Whether this is an outage: the store did not answer, and may answer later. Default: false. */
  readonly retryable?: boolean | undefined;
}

/**
 * The store failed. The transaction did not happen, unless the message says otherwise. `retryable`
 * tells an outage, which passes, from a refusal, which does not: `db.transact` runs the function
 * again after an outage, until its deadline.
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
 * No space is left. The transaction failed, the database stays usable; free space and try again.
 */
export class StoreFullError extends StoreError {
  override readonly code = "STORE_FULL";
}

/** Who keeps an embedded database from being written. */
export interface StoreBusyDetails extends ErrorDetails {
  /** Id of the process that holds the lock. */
  readonly process?: number;
  /** For how long it was seen to hold it, in milliseconds. It may have held it before. */
  readonly heldMs?: number;
}

/**
 * Another process has held a lock of an embedded database for 10 s without going on: it was
 * stopped, or its event loop is blocked. What this error rejects was not written. Continue that
 * process or end it.
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

/** What the store holds cannot be read: not a database of this package, or a damaged one. */
export class StoreDamagedError extends StoreError {
  override readonly code = "STORE_DAMAGED";
}

/**
 * A file of an embedded database was deleted, renamed or replaced while this process had it open.
 * What this error rejects was not written. A commit whose files vanished before it was acknowledged
 * rejects with a `CommitOutcomeUnknownError`; the calls after it reject with this error. End all
 * processes of the database, put the file back, and start them again.
 */
export class StoreMovedError extends StoreError {
  override readonly code = "STORE_MOVED";
}

/**
 * An embedded database was written to while this process reads it without a lock: the folder lies
 * on a read-only file system, or this user may not write `lock.mdb`. LMDB may already use the pages
 * that were read for something else, so nothing of the read is given out. Open the database again;
 * or let this process write `lock.mdb`.
 */
export class StoreChangedError extends StoreError {
  override readonly code = "STORE_CHANGED";
}

/** Written by a newer version of this package. Upgrade the package. */
export class StoreVersionError extends StoreError {
  override readonly code = "STORE_VERSION";
}

/**
 * A file that is no export, or one that is damaged or cut; the message names the place. Nothing
 * from there on was used.
 */
export class ExportDamagedError extends PercolatorError {
  readonly code = "EXPORT_DAMAGED";
}

/** Who gives out timestamps instead, where that is known. */
export interface NotLeaderDetails extends ErrorDetails {
  /** The candidate's name. */
  readonly leader?: string | undefined;
}

/**
 * This candidate does not lead the oracle, or cannot be sure that it does. No timestamp was given;
 * ask another.
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
 * No answer came from the oracle, or from the store beneath it, in time. Nothing was given; ask
 * again.
 */
export class OracleUnavailableError extends PercolatorError {
  readonly code = "ORACLE_UNAVAILABLE";
  override readonly retryable = true;
}

/** What about a coordinator is wrong: see {@link CoordinatorError.reason}. */
export type CoordinatorFault = "token" | "tls" | "version" | "message" | "use";

/** What a {@link CoordinatorError} is made of. */
export interface CoordinatorDetails extends ErrorDetails {
  readonly reason?: CoordinatorFault | undefined;
}

/**
 * A coordinator and its client do not fit, and asking again does not help: a wrong token, TLS on
 * one side only or a certificate that is not trusted, another version or another service, a message
 * that cannot be read.
 */
export class CoordinatorError extends PercolatorError {
  readonly code = "COORDINATOR";
  readonly reason: CoordinatorFault;

  constructor(message: string, details: CoordinatorDetails = {}) {
    super(message, details);
    this.reason = details.reason ?? "use";
  }
}

/** Which package a {@link MissingPackageError} is about. */
export interface MissingPackageDetails extends ErrorDetails {
  /** Its name, as `npm install` takes it. */
  readonly package?: string | undefined;
}

/**
 * Something was used that needs a package which is not installed, or cannot be loaded. Packages
 * that only some programs need are optional peers of this one. The message has the command that
 * installs all that this use needs.
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
 * The function of a transaction or an observer returned while calls that it had made on its
 * transaction were not answered yet: an `await` is missing. Nothing was written.
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
