import { join } from "node:path";
import { type Environment, SingleFlight, sleep, type Timer } from "../../../environment/index.js";
import { ClosedError, StoreChangedError, StoreError } from "../../../errors/index.js";
import { type FlushedBefore, flushUnderPermissions, settleHead } from "../file/flushed-head.js";
import { type Flushes, fileFlushes } from "../file/flushes.js";
import { dataFileName } from "../file/folder.js";
import { hasLock, makeLockFile } from "../file/lock-file.js";
import { type HeldLock, LockWatch, untilUnlocked } from "../file/lock-watch.js";
import { type EnvironmentOptions, type Opened, openDatabases, probeFolder } from "../file/opening.js";
import type { Openings } from "../file/openings.js";
import { FolderPlace } from "../file/place.js";
import type { Databases } from "../record/databases.js";
import { isFreePagesLost, isPanic } from "../record/errors.js";
import { readCounter } from "../record/state.js";
import { WriteQueue } from "../write/queue.js";
import { Room } from "../write/room.js";

/**
 * How often, and how many milliseconds apart, to try to reopen a broken environment while other
 * threads of this process still hold it: 3 s in total.
 */
const mendAttempts = 150;
const mendPauseMs = 20;
/**
 * Time between two checks of the files' identity for a process that only reads, in milliseconds. A
 * check costs as much as a few reads.
 */
const placeCheckMs = 1_000;
/**
 * Time between two checks for readers whose process has ended, in milliseconds. Until a check
 * removes such a reader, LMDB keeps the pages that it read, and the file grows.
 */
const readerCheckMs = 60_000;

/**
 * One open folder, which all stores on it in this process share. It opens LMDB, reopens it after
 * failures, and owns the write queue.
 */
export class SharedFolder {
  readonly path: string;
  readonly readOnly: boolean;
  /**
   * The same object as long as the folder is open. Its members are replaced if LMDB is reopened.
   */
  readonly databases: Databases;
  readonly queue: WriteQueue;
  /** Undefined if the folder is open only for reading. */
  readonly flushes: Flushes | undefined;
  /** Number of stores that are open on the folder. */
  users = 1;
  /** How often LMDB had to be reopened. */
  timesMended = 0;
  readonly #options: EnvironmentOptions;
  readonly environment: Environment;
  readonly #watch: LockWatch;
  readonly #openings: Openings;
  /**
   * Resolves when LMDB's locks are free for the first time, if the folder was opened without them.
   */
  #unlocked: Promise<void> | undefined;
  #isSettled: boolean;
  #flushed: FlushedBefore;
  #closed = false;
  /** Undefined while LMDB is closed because it could not be reopened. */
  #opened: Opened | undefined;
  readonly #mending = new SingleFlight<void>();
  #place: FolderPlace;
  #placeCheckedAt: number;
  #readerCheck: Timer | undefined;
  /**
   * LMDB's transaction at the opening, if LMDB could take no lock. Undefined if LMDB has a lock.
   * The lock keeps the pages that this process reads in place.
   */
  readonly #unlockedAt: number | undefined;

  /**
   * `openings` has the announcement that this process opens the folder. `flushed`: the result of
   * {@link flushUnderPermissions}. `held`: a lock of LMDB that another process holds without end.
   */
  constructor(
    path: string,
    options: EnvironmentOptions,
    environment: Environment,
    openings: Openings,
    flushed?: FlushedBefore,
    held?: HeldLock,
  ) {
    this.path = path;
    this.readOnly = options.readOnly;
    this.#options = options;
    this.environment = environment;
    this.#openings = openings;
    makeLockFile(path, options.maxReaders);
    this.#place = new FolderPlace(path);
    this.#opened = openDatabases(path, options, openings, flushed, held);
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
        ready: () => (this.#isSettled && !openings.isRunning() ? undefined : this.#untilReady()),
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

  async #untilReady(): Promise<void> {
    if (!this.#isSettled) await this.#untilUnlocked();
    await this.#openings.ended();
  }

  /**
   * Waits until LMDB's lock is free before asking for it, since a thread that waits inside LMDB
   * cannot be ended.
   */
  async #untilUnlocked(): Promise<void> {
    this.#unlocked ??= untilUnlocked(this.path, this.environment, () => this.#closed);
    await this.#unlocked;
    if (this.#closed)
      throw new ClosedError(`The store on ${this.path} was closed before it could write. Open it again.`);
    await this.flushes?.flush();
    this.#flushed = await flushUnderPermissions(join(this.path, dataFileName));
  }

  /**
   * Makes the next read see the newest commit of any process.
   *
   * @throws StoreMovedError if a file was moved. This is checked once a second.
   */
  refresh(): void {
    const now = this.environment.monotonic();
    if (now - this.#placeCheckedAt >= placeCheckMs) {
      this.#place.check();
      this.#placeCheckedAt = now;
    }
    this.databases.root.resetReadTxn();
  }

  /** Whether writers cannot see this reader, so that LMDB may reuse the pages that it reads. */
  get isUnlocked(): boolean {
    return this.#unlockedAt !== undefined;
  }

  /**
   * Call this after each read, before using its result. LMDB does not reuse a page of a state
   * before it commits the next transaction. So the result is valid if there is no such transaction
   * yet.
   *
   * @throws StoreChangedError if the folder is read without a lock, and was written to since it was
   * opened.
   */
  checkUnchanged(): void {
    if (this.#unlockedAt === undefined || this.databases.root.lastTransaction() === this.#unlockedAt) return;
    throw new StoreChangedError(
      `The database in ${this.path} was written to by another process while this one reads it without a lock: the folder is on a read-only file ` +
        "system, or this user may not write its lock.mdb. The read may have met overwritten pages, so its result was discarded. Open the " +
        "database again. To read while other processes write, let this process write lock.mdb.",
    );
  }

  /** Frees the pages that readers of ended processes still keep in place. */
  clearDeadReaders(): void {
    // While LMDB is being reopened there is nothing to free, and readers report the failure.
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
   * Reopens LMDB if its environment is broken or its free list is inconsistent, and `error` comes
   * from that. All concurrent callers share one reopening. Resolves to true when LMDB is open
   * again, and rejects if that fails. Resolves to false if `error` has another reason.
   */
  async mend(error: unknown): Promise<boolean> {
    if (!this.isBroken(error)) return false;
    await this.#mending.run(() => this.#reopen());
    return true;
  }

  /**
   * Whether LMDB must be reopened, and `error` may come from that. Nothing is written until LMDB is
   * open again.
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
    // A thread waits inside LMDB for a lock that another process holds. All its requests were given
    // up, so closing does not wait for the thread.
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

  /** Whether a read reports a broken environment. The failure itself may have another code. */
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
   * Reopens LMDB. Between closing and opening, no other code of this process runs, unless another
   * thread has the environment open as well.
   */
  async #reopen(): Promise<void> {
    let flushed: FlushedBefore;
    if (this.#opened !== undefined) {
      await this.#opened.writing.stop();
      if (!this.readOnly) flushed = await flushUnderPermissions(join(this.path, dataFileName));
      if (!this.#opened.writing.abandon()) throw this.#notMended("LMDB's binding cannot close it");
      this.#opened = undefined;
    }
    for (let attempt = 1; ; attempt++) {
      await this.#openings.announce();
      try {
        await this.#openings.writesEnded();
        probeFolder(this.path, this.#options);
        this.#place.check();
        this.#opened = openDatabases(this.path, this.#options, this.#openings, flushed);
        Object.assign(this.databases, this.#opened.databases);
        this.timesMended++;
        return;
      } catch (error) {
        if (attempt === mendAttempts || !isPanic(error)) {
          const reason = error instanceof Error ? error.message : String(error);
          throw this.#notMended(reason, error);
        }
      } finally {
        this.#openings.withdraw();
      }
      await sleep(this.environment, mendPauseMs);
    }
  }

  #notMended(reason: string, cause?: unknown): StoreError {
    return new StoreError(
      `The database in ${this.path} must be opened again, because another process ended while it flushed, but opening ` +
        `failed: ${reason}. Nothing is lost. Close the database in every thread of this process, and open it again.`,
      { cause },
    );
  }
}
