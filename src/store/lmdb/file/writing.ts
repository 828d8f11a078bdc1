import { platform } from "node:os";
import { getSystemErrorMap } from "node:util";
import { panic } from "../record/errors.js";
import { guard, unguard } from "./exit-guard.js";

/** What is used of the environment of LMDB's binding. */
export interface NativeEnvironment {
  /** 0 once it is closed. */
  address: number;
  /**
   * Runs a write thread. `report` is told 2: the transaction is open, 1: it can be seen, or at the
   * end LMDB's answer.
   */
  startWriting(instructions: number, report: (status: number) => unknown): void;
  /** Gives back the lock that the binding's write threads share. */
  resumeWriting(): void;
  sync(callback?: (error?: unknown) => void): void;
  info(): { readonly lastTxnId: number };
  close(): void;
}

/** What is used of the binding's root database. */
export interface NativeRoot {
  readonly env: NativeEnvironment;
  transaction(action: () => void): Promise<unknown>;
  close(): Promise<void>;
}

/** A transaction that was asked for. */
interface Pending {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A write thread: one of LMDB's transactions. */
interface Thread {
  readonly number: number;
  /** What went into its transaction. */
  readonly done: Pending[];
  begun: boolean;
}

const seen = 1;
const open = 2;

/**
 * The write threads of one LMDB environment, and what each of them came to.
 *
 * The binding's own promises do not say it exactly: at times they are resolved with the thread
 * before, and they never settle where LMDB could not begin a transaction. So the end of each thread
 * is listened to, and settles what went into it.
 */
export class Writing {
  readonly #root: NativeRoot;
  /** Asked for, and not yet in a transaction. */
  readonly #waiting = new Set<Pending>();
  #lastThread = 0;
  #current: Thread | undefined;
  /** Threads and flushes that have not ended. */
  #running = 0;
  /** Threads whose transaction was not opened yet. */
  #beginning = 0;
  /** Threads whose transaction was opened, and that have not ended. */
  #open = 0;
  /** Actions that the binding was asked to run, and has not yet run. */
  #asked = 0;
  /** Threads that ended without giving back the binding's lock. */
  #locked = 0;
  #broken = false;
  /** Whether a thread has ended with a failure. */
  #failed = false;
  #whenIdle: (() => void)[] = [];

  constructor(root: NativeRoot) {
    this.#root = root;
    const { env } = root;
    guard(this);
    const start = env.startWriting.bind(env);
    Object.defineProperty(env, "startWriting", {
      value: (instructions: number, report: (status: number) => unknown) => {
        // None may wait for a lock that is never given back, or use what is closed.
        if (this.#broken) this.#rejectWaiting();
        else this.#start(start, instructions, report);
      },
    });
  }

  /** Nothing more can be written: LMDB says so, or {@link condemn} did. */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Whether a thread waits for the event loop, or soon will: see {@link guardExit}. One whose
   * transaction is open waits again for what joins it; that it has joined is known only when it is
   * run.
   */
  get isBeginning(): boolean {
    return this.#beginning > 0 || (this.#open > 0 && this.#asked > 0);
  }

  /**
   * Number of the thread whose transaction is open: each has its own, also where LMDB gives a
   * transaction's number again.
   */
  get thread(): number {
    return this.#current?.number ?? 0;
  }

  /**
   * Runs `action` in a write transaction, soon. Settled when that is committed and flushed, or has
   * failed.
   */
  transaction(action: () => void): Promise<void> {
    if (this.#broken) return Promise.reject(failure(panic));
    return new Promise((resolve, reject) => {
      const pending = { resolve, reject };
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

  /** Flushes on a thread of its own. */
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

  /** Lets nothing more begin. */
  condemn(): void {
    this.#broken = true;
    this.#rejectWaiting();
  }

  /** Lets nothing more begin; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.condemn();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /**
   * Closes the environment, which nothing uses any more. After a failure the binding waits for
   * promises that may never settle.
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
   * Closes the environment, after {@link stop}, without waiting for the binding's promises. False
   * where that cannot be: closing takes the lock of the write threads, which on Windows only the
   * thread that holds it can give back.
   */
  abandon(): boolean {
    if (this.#locked > 0 && platform() === "win32") return false;
    const { env } = this.#root;
    unguard(this);
    for (; this.#locked > 0; this.#locked--) env.resumeWriting();
    // Parts with its read transaction at once; then it may wait for promises that never settle.
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
      if (status === seen) return report(status);
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

  #end(thread: Thread, status: number, report: (status: number) => unknown): void {
    if (status !== 0) this.#failed = true;
    if (status === panic || !thread.begun) this.#broken = true;
    if (thread.begun) this.#open--;
    else this.#locked++;
    try {
      // It would print a failure, and nobody needs to be told twice.
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

/** The error for a number of LMDB's or the system's. */
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

/**
 * The binding rejects with an error on which the promise of another hangs: neither may be left to
 * nobody.
 */
function forget(error: unknown): void {
  if (typeof error !== "object" || error === null || !("commitError" in error)) return;
  Promise.resolve(error.commitError).catch(() => undefined);
}
