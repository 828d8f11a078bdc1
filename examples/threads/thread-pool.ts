/**
 * Threads that compute for observers. If an observer computes for long, it calls
 * {@link ThreadPool.run}. The computation then runs on another thread, and the observer's own thread
 * stays free for transactions.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { ResourceLimits, TransferListItem } from "node:worker_threads";
import { Piscina } from "piscina";

export interface ThreadPoolOptions {
  /** The number of threads. They start at once, and run until {@link ThreadPool.close}. */
  readonly threads: number;
  /** A thread that uses more memory ends, and its task fails. Default: as Node decides. */
  readonly resourceLimits?: ResourceLimits | undefined;
  /** Receives the error of a thread that ended without a task. A new thread replaces it. */
  readonly onError: (error: Error) => void;
}

export interface TaskOptions {
  /** Cancels the task. A thread that is already computing it is terminated and replaced. */
  readonly signal: AbortSignal;
  /** Buffers in the task that move to the thread instead of being copied. They are empty afterwards. */
  readonly transfer?: readonly TransferListItem[] | undefined;
}

/**
 * Tasks that may run or wait for each thread. More than one, so that the next task is there when a
 * thread finishes one.
 */
const tasksPerThread = 4;

/**
 * A pool of threads. Each has loaded one module, whose default export computes a task. A thread
 * computes one task at a time. If the thread ends (`process.exit`, out of memory, an error that
 * nothing caught), only that task fails, and a new thread takes its place.
 */
export class ThreadPool<Task, Result> {
  /**
   * The `concurrency` for an observer that uses the pool. It is what limits the tasks that wait:
   * Piscina's `maxQueue` does not apply to tasks with an AbortSignal.
   */
  readonly concurrency: number;
  readonly #pool: Piscina<Task, Result>;
  readonly #calls = new Set<AbortController>();

  constructor(module: URL, { threads, resourceLimits, onError }: ThreadPoolOptions) {
    this.concurrency = threads * tasksPerThread;
    this.#pool = new Piscina<Task, Result>({
      filename: module.href,
      // With fewer threads at rest, Piscina 5.3 would not replace a thread that ended, and tasks would
      // wait until the next one is added.
      minThreads: threads,
      maxThreads: threads,
      execArgv: nodeOptionsFor(module),
      ...(resourceLimits === undefined ? {} : { resourceLimits }),
    });
    this.#pool.on("error", (error: unknown) => {
      onError(errorOf(error));
      // No thread can load the module. The next task starts a thread again, but those that wait
      // would wait for it.
      if (this.#pool.threads.length === 0) for (const call of this.#calls) call.abort(errorOf(error));
    });
  }

  /**
   * Computes a task on a thread. Throws the error of the task or of its thread, or the signal's
   * reason. Task and result must be values that `structuredClone` takes.
   */
  async run(task: Task, { signal, transfer = [] }: TaskOptions): Promise<Result> {
    signal.throwIfAborted();
    const call = new AbortController();
    const cancel = () => call.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    this.#calls.add(call);
    try {
      return await this.#pool.run(task, { signal: call.signal, transferList: [...transfer] });
    } catch (error) {
      throw call.signal.aborted ? call.signal.reason : errorOf(error);
    } finally {
      this.#calls.delete(call);
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Terminates the threads. Tasks that still run or wait fail. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Returns bytes that can be transferred. If no other array shares the memory of `bytes`, returns
 * `bytes` itself: that is so for every value that a transaction returns. Otherwise returns a copy, as
 * for a small `Buffer`, which shares its memory with others.
 */
export function transferable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isAlone ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

/** If the module is TypeScript, threads and processes load it with tsx, whichever loader this thread uses. */
export function nodeOptionsFor(module: URL): string[] {
  if (!module.pathname.endsWith(".ts")) return [];
  const tsx = createRequire(import.meta.url).resolve("tsx");
  return ["--import", pathToFileURL(tsx).href];
}

function errorOf(error: unknown): Error {
  // An error that cannot be copied from its thread arrives as something else.
  return error instanceof Error ? error : new Error("A thread failed with an error that cannot be copied.");
}
