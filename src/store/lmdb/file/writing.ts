import { platform } from "node:os";
import { getSystemErrorMap } from "node:util";
import { forget, panic } from "../record/errors.js";
import { guard, unguard } from "./exit-guard.js";

/** The part of the binding's environment that this package uses. */
export interface NativeEnvironment {
  /** 0 after the environment is closed. */
  address: number;
  /**
   * Runs a write thread. It calls `report` with 2 when the transaction is open, with 1 when the
   * commit is visible, and at the end with LMDB's status.
   */
  startWriting(instructions: number, report: (status: number) => unknown): void;
  /** Releases the lock that the binding's write threads share. */
  resumeWriting(): void;
  sync(callback?: (error?: unknown) => void): void;
  info(): { readonly lastTxnId: number };
  close(): void;
}

/** The part of the binding's root database that this package uses. */
export interface NativeRoot {
  readonly env: NativeEnvironment;
  transaction(action: () => void): Promise<unknown>;
  close(): Promise<void>;
}

/** A requested transaction. */
interface Pending {
  readonly seen: (() => void) | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A write thread. It runs one of LMDB's transactions. */
interface Thread {
  readonly number: number;
  /** The requests that went into its transaction. */
  readonly done: Pending[];
  begun: boolean;
}

const seen = 1;
const open = 2;

/**
 * Tracks the write threads of one LMDB environment and their results.
 *
 * The binding's own promises are not reliable. Sometimes they resolve when the previous thread
 * ends. They never settle if LMDB could not begin a transaction. So this class waits for the end of
 * each thread, and then settles the requests of that thread's transaction.
 *
 * | state of a thread | next | when |
 * | --- | --- | --- |
 * | beginning | open | LMDB has opened its transaction |
 * | open | seen | other processes can see the commit, which is not flushed yet |
 * | seen | ended | the flush has ended |
 * | any | ended | LMDB reports a failure |
 */
export class Writing {
  readonly #root: NativeRoot;
  /** Requests that are not in a transaction yet. */
  readonly #waiting = new Set<Pending>();
  #lastThread = 0;
  #current: Thread | undefined;
  /** Number of threads and flushes that have not ended. */
  #running = 0;
  /** Number of threads whose transaction is not open yet. */
  #beginning = 0;
  /** Number of threads whose transaction was opened, and that have not ended. */
  #open = 0;
  /** Number of actions passed to the binding that it has not run yet. */
  #asked = 0;
  /** Number of threads that ended without releasing the binding's lock. */
  #locked = 0;
  #broken = false;
  /** Whether any thread has ended with a failure. */
  #failed = false;
  #whenIdle: (() => void)[] = [];

  constructor(root: NativeRoot) {
    this.#root = root;
    const { env } = root;
    guard(this);
    const start = env.startWriting.bind(env);
    Object.defineProperty(env, "startWriting", {
      value: (instructions: number, report: (status: number) => unknown) => {
        // A thread must not wait for a lock that is never released, or use a closed environment.
        if (this.#broken) this.#rejectWaiting();
        else this.#start(start, instructions, report);
      },
    });
  }

  /**
   * Whether nothing more can be written, because LMDB reported a failure or {@link condemn} was
   * called.
   */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Whether a thread waits for the event loop, or will do so soon: see {@link guardExit}. A thread
   * with an open transaction waits again for each action that joins the transaction. This class
   * learns that an action has joined only when the action runs.
   */
  get isBeginning(): boolean {
    return this.#beginning > 0 || (this.#open > 0 && this.#asked > 0);
  }

  /**
   * Number of the thread whose transaction is open. It is unique, even if LMDB gives two
   * transactions the same number.
   */
  get thread(): number {
    return this.#current?.number ?? 0;
  }

  /**
   * Runs `action` in a write transaction soon. Settles when the transaction is committed and
   * flushed, or has failed. Calls `seen` when the commit is visible.
   */
  transaction(action: () => void, seen?: () => void): Promise<void> {
    if (this.#broken) return Promise.reject(failure(panic));
    return new Promise((resolve, reject) => {
      const pending = { seen, resolve, reject };
      this.#waiting.add(pending);
      this.#asked++;
      const run = () => {
        this.#asked--;
        if (!this.#waiting.delete(pending)) return;
        this.#current?.done.push(pending);
        action();
      };
      this.#root.transaction(run).catch(forget);
    });
  }

  /** Flushes on a separate thread. */
  sync(callback: (error?: unknown) => void): void {
    if (this.#broken) {
      callback(failure(panic));
      return;
    }
    this.#running++;
    this.#root.env.sync((error) => {
      this.#ended();
      callback(error);
    });
  }

  /** Rejects waiting and later requests. */
  condemn(): void {
    this.#broken = true;
    this.#rejectWaiting();
  }

  /** Rejects waiting and later requests. Resolves when no thread or flush runs. */
  async stop(): Promise<void> {
    this.condemn();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /**
   * Closes the environment, which must be unused. After a failure it does not use the binding's own
   * close, which would wait for promises that may never settle.
   */
  async close(): Promise<void> {
    if (this.#broken || this.#failed) {
      await this.stop();
      this.abandon();
      return;
    }
    await this.#root.close();
    unguard(this);
  }

  /**
   * Closes the environment after {@link stop}, without waiting for the binding's promises. Returns
   * false if that is impossible: closing takes the lock of the write threads, and on Windows only
   * the thread that holds the lock can release it.
   */
  abandon(): boolean {
    if (this.#locked > 0 && platform() === "win32") return false;
    const { env } = this.#root;
    unguard(this);
    for (; this.#locked > 0; this.#locked--) env.resumeWriting();
    // The binding's close ends its read transaction at once. After that, it may wait for promises
    // that never settle, so nothing here waits for it.
    this.#root.close().catch(forget);
    if (env.address !== 0) {
      env.address = 0;
      env.close();
    }
    return true;
  }

  #start(
    start: NativeEnvironment["startWriting"],
    instructions: number,
    report: (status: number) => unknown,
  ): void {
    const thread: Thread = { number: ++this.#lastThread, done: [], begun: false };
    this.#running++;
    this.#beginning++;
    start(instructions, (status) => {
      if (status === seen) return this.#seen(thread, report);
      if (!thread.begun) this.#beginning--;
      if (status !== open) return this.#end(thread, status, report);
      if (!thread.begun) this.#open++;
      thread.begun = true;
      this.#current = thread;
      try {
        return report(status);
      } finally {
        this.#current = undefined;
      }
    });
  }

  #seen(thread: Thread, report: (status: number) => unknown): unknown {
    try {
      return report(seen);
    } finally {
      for (const pending of thread.done) pending.seen?.();
    }
  }

  #end(thread: Thread, status: number, report: (status: number) => unknown): void {
    if (status !== 0) this.#failed = true;
    if (status === panic || !thread.begun) this.#broken = true;
    if (thread.begun) this.#open--;
    else this.#locked++;
    try {
      // The binding would print a failure, but the requests report it already.
      report(status === 0 ? status : seen);
    } finally {
      for (const pending of thread.done) {
        if (status === 0) pending.resolve();
        else pending.reject(failure(status));
      }
      if (this.#broken) this.#rejectWaiting(status);
      this.#ended();
    }
  }

  #ended(): void {
    if (--this.#running > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #rejectWaiting(status = panic): void {
    for (const { reject } of this.#waiting) reject(failure(status));
    this.#waiting.clear();
  }
}

/** The error for a status of LMDB or of the system. */
function failure(status: number): Error {
  const [name, message] = getSystemErrorMap().get(-status) ?? [];
  const text =
    status === panic
      ? "MDB_PANIC: LMDB has declared its environment broken"
      : name === undefined
        ? `LMDB answered ${status}`
        : `${name}: ${message}`;
  return Object.assign(new Error(text), { code: status });
}
