import { join } from "node:path";
import { type Environment, SingleFlight, sleep, type Timer } from "../../../environment/index.js";
import { ClosedError, StoreChangedError, StoreError } from "../../../errors/index.js";
import { type FlushedBefore, flushUnderPermissions, settleHead } from "../file/flushed-head.js";
import { type Flushes, fileFlushes } from "../file/flushes.js";
import { dataFileName } from "../file/folder.js";
import { hasLock, makeLockFile } from "../file/lock-file.js";
import { type HeldLock, LockWatch, untilUnlocked } from "../file/lock-watch.js";
import { type EnvironmentOptions, type Opened, openDatabases, probeFolder } from "../file/opening.js";
import { FolderPlace } from "../file/place.js";
import type { Databases } from "../record/databases.js";
import { isFreePagesLost, isPanic } from "../record/errors.js";
import { readCounter } from "../record/state.js";
import { WriteQueue } from "../write/queue.js";
import { Room } from "../write/room.js";

/**
 * While other threads of this process have not parted with a broken environment: attempts to open
 * it anew, so far apart.
 */
const mendAttempts = 150;
const mendPauseMs = 20;
/**
 * Between two looks whether the files stand where they stood, for those who only read: a look costs
 * as much as a few reads.
 */
const placeCheckMs = 1_000;
/**
 * Between two looks for readers that have ended: what they read is kept, and the file grows, until
 * they are cleared away.
 */
const readerCheckMs = 60_000;

/** One open folder, shared by all stores of this process that are open on it. */
export class SharedFolder {
  readonly path: string;
  readonly readOnly: boolean;
  /** Lasts as long as the folder is open; what it names is replaced where LMDB is opened anew. */
  readonly databases: Databases;
  readonly queue: WriteQueue;
  /** Undefined where it is only read. */
  readonly flushes: Flushes | undefined;
  /** Stores that are open on it. */
  users = 1;
  /** Times that LMDB had to be opened anew. */
  mended = 0;
  readonly #options: EnvironmentOptions;
  readonly environment: Environment;
  readonly #watch: LockWatch;
  /** Until LMDB's locks were free for the first time, if the folder was opened without them. */
  #unlocked: Promise<void> | undefined;
  #isSettled: boolean;
  #flushed: FlushedBefore;
  #closed = false;
  /** Undefined while it could not be opened anew. */
  #opened: Opened | undefined;
  readonly #mending = new SingleFlight<void>();
  #place: FolderPlace;
  #placeCheckedAt: number;
  #readerCheck: Timer | undefined;
  /**
   * LMDB's transaction at the opening, if LMDB could take no lock; undefined with a lock, which
   * keeps in place what is read.
   */
  readonly #unlockedAt: number | undefined;

  /**
   * `flushed`: of {@link flushUnderPermissions}. `held`: a lock of LMDB's that another process
   * holds without end.
   */
  constructor(
    path: string,
    options: EnvironmentOptions,
    environment: Environment,
    flushed?: FlushedBefore,
    held?: HeldLock,
  ) {
    this.path = path;
    this.readOnly = options.readOnly;
    this.#options = options;
    this.environment = environment;
    makeLockFile(path, options.maxReaders);
    this.#place = new FolderPlace(path);
    this.#opened = openDatabases(path, options, flushed, held);
    this.#flushed = flushed;
    this.#isSettled = held === undefined;
    try {
      this.#place.complete();
    } catch (error) {
      this.#opened.databases.root.close().catch(() => undefined);
      throw error;
    }
    this.#placeCheckedAt = environment.monotonic();
    this.databases = { ...this.#opened.databases };
    this.#unlockedAt = options.readOnly && !hasLock(path) ? this.databases.root.lastTransaction() : undefined;
    this.flushes = options.readOnly ? undefined : fileFlushes(this.databases, join(path, dataFileName));
    this.queue = new WriteQueue(
      this.databases,
      environment,
      path,
      this.flushes,
      (error) => this.mend(error),
      {
        checkPlace: () => this.#checkPlace(),
        room: () => Room.begin(join(path, dataFileName), () => this.databases.root.oldestReader()),
        waits: () => this.#watch.watch(),
        ready: () => (this.#isSettled ? undefined : this.#untilUnlocked()),
      },
    );
    this.#watch = new LockWatch(path, environment, this.queue);
    this.#scheduleReaderCheck();
  }

  #checkPlace(): void {
    this.#place.check();
    if (this.#isSettled) return;
    settleHead(join(this.path, dataFileName), this.#flushed);
    this.#isSettled = true;
  }

  /**
   * LMDB is asked for its lock only once it is free: a thread that waits for it could not be ended.
   */
  async #untilUnlocked(): Promise<void> {
    this.#unlocked ??= untilUnlocked(this.path, this.environment, () => this.#closed);
    await this.#unlocked;
    if (this.#closed) throw new ClosedError(`The store on ${this.path} was closed before it could write.`);
    await this.flushes?.flush();
    this.#flushed = await flushUnderPermissions(join(this.path, dataFileName));
  }

  /**
   * Lets the next read see what any process has committed.
   *
   * @throws StoreMovedError if a file was seen to be elsewhere; that is looked for once a second.
   */
  refresh(): void {
    const now = this.environment.monotonic();
    if (now - this.#placeCheckedAt >= placeCheckMs) {
      this.#place.check();
      this.#placeCheckedAt = now;
    }
    this.databases.root.resetReadTxn();
  }

  /** Whether writers do not see what is read here, so that LMDB may use its pages again. */
  get isUnlocked(): boolean {
    return this.#unlockedAt !== undefined;
  }

  /**
   * To be called after each read, before its result is used. LMDB uses no page of a state again
   * before the transaction after it is committed, so what was read is whole if there is no such
   * transaction yet.
   *
   * @throws StoreChangedError if the folder is read without a lock and was written to since it was
   * opened.
   */
  checkUnchanged(): void {
    if (this.#unlockedAt === undefined || this.databases.root.lastTransaction() === this.#unlockedAt) return;
    throw new StoreChangedError(
      `The database in ${this.path} was written to while this process reads it without a lock: the folder lies on a read-only file ` +
        "system, or this user may not write its lock.mdb. What was read may be overwritten, so nothing of it is given out. Open the database " +
        "again; to read while others write, let this process write lock.mdb.",
    );
  }

  /** Frees what processes that have ended still hold of the file. */
  clearDeadReaders(): void {
    // While LMDB is opened again nothing is to be cleared, or what is wrong is told to those who
    // read.
    if (this.#opened === undefined || this.#opened.writing.broken) return;
    this.databases.root.readerCheck();
  }

  #scheduleReaderCheck(): void {
    const check = () => {
      this.clearDeadReaders();
      this.#scheduleReaderCheck();
    };
    this.#readerCheck = this.environment.setTimer(check, readerCheckMs, { background: true });
  }

  /**
   * Where LMDB has declared its environment broken, or has lost its way in it, and `error` comes of
   * that: opens it anew, for all who ask for it meanwhile, and then resolves to true; fails where
   * that does not succeed. Resolves to false where `error` has another reason.
   */
  async mend(error: unknown): Promise<boolean> {
    if (!this.isBroken(error)) return false;
    await this.#mending.run(() => this.#reopen());
    return true;
  }

  /**
   * Whether LMDB has to be opened anew, and `error` may come of that. Nothing is written until it
   * is.
   */
  isBroken(error: unknown): boolean {
    if (this.#mending.isRunning || this.#opened === undefined || this.#opened.writing.broken) return true;
    if (!isPanic(error) && !isFreePagesLost(error) && !this.#panics()) return false;
    this.#opened.writing.condemn();
    return true;
  }

  async close(): Promise<void> {
    this.#readerCheck?.cancel();
    this.#closed = true;
    const isStuck = await Promise.race([
      this.queue.idle().then(() => false),
      this.#watch.stuck().then(() => true),
    ]);
    if (!isStuck) return this.#end();
    // A thread waits in LMDB for a lock that another process holds. All that it would write was
    // given up.
    this.queue
      .idle()
      .then(() => this.#end())
      .catch(() => undefined);
  }

  async #end(): Promise<void> {
    await this.#mending.ended();
    this.flushes?.close();
    await this.#opened?.writing.close();
  }

  /** A failure may have another number, and leave a broken environment all the same. */
  #panics(): boolean {
    try {
      this.databases.root.resetReadTxn();
      readCounter(this.databases);
      return false;
    } catch (error) {
      return isPanic(error);
    }
  }

  /**
   * From the closing to the opening nobody else gets a turn, unless another thread has it open,
   * too.
   */
  async #reopen(): Promise<void> {
    let flushed: FlushedBefore;
    if (this.#opened !== undefined) {
      await this.#opened.writing.stop();
      if (!this.readOnly) flushed = await flushUnderPermissions(join(this.path, dataFileName));
      if (!this.#opened.writing.abandon()) throw this.#notMended("LMDB's binding cannot close it here");
      this.#opened = undefined;
    }
    for (let attempt = 1; ; attempt++) {
      try {
        probeFolder(this.path, this.#options);
        this.#place.check();
        this.#opened = openDatabases(this.path, this.#options, flushed);
        Object.assign(this.databases, this.#opened.databases);
        this.mended++;
        return;
      } catch (error) {
        if (attempt === mendAttempts || !isPanic(error)) {
          const reason = error instanceof Error ? error.message : String(error);
          throw this.#notMended(reason, error);
        }
      }
      await sleep(this.environment, mendPauseMs);
    }
  }

  #notMended(reason: string, cause?: unknown): StoreError {
    return new StoreError(
      `The database in ${this.path} has to be opened anew, since another process was ended while it flushed, and that did ` +
        `not succeed: ${reason}. Nothing is lost; close the database in every thread of this process, and open it again.`,
      { cause },
    );
  }
}
