import { writeSync } from "node:fs";
import { inspect } from "node:util";
import { isMainThread } from "node:worker_threads";

/** An object that writes an LMDB environment. */
interface Writer {
  /**
   * Whether a write thread waits for the event loop, or will do so soon. It may hold LMDB's write
   * lock.
   */
  readonly isBeginning: boolean;
}

const writers = new Set<Writer>();
const standardError = 2;
let uncaught: { readonly error: unknown } | undefined;
let listens = false;

/**
 * Kills the process with `SIGKILL` if it exits while a write thread waits for the event loop. Both
 * `process.exit` and an uncaught error can cause that.
 *
 * Without this guard, Node would wait for the thread forever, since the event loop never runs
 * again. The thread would keep LMDB's write lock. Meanwhile the binding would close the
 * environment, and nothing could release the lock any more. All other processes on the folder would
 * then hang. If the process is killed instead, the system gives the lock to the next process that
 * waits for it.
 *
 * Call this before LMDB is opened, since LMDB's binding also listens for the exit. The guard has no
 * effect in worker threads.
 */
export function guardExit(): void {
  if (listens || !isMainThread) return;
  listens = true;
  // Node prints an uncaught error only after the exit listeners, so this guard keeps the error to
  // print it.
  process.on("uncaughtExceptionMonitor", (error) => {
    uncaught = { error };
  });
  process.prependListener("exit", () => {
    if (isWriteBeginning()) endHard();
  });
}

export function isWriteBeginning(): boolean {
  return [...writers].some(({ isBeginning }) => isBeginning);
}

export function guard(writer: Writer): void {
  writers.add(writer);
}

export function unguard(writer: Writer): void {
  writers.delete(writer);
}

function endHard(): void {
  const reason = uncaught === undefined ? "" : `${inspect(uncaught.error)}\n`;
  try {
    writeSync(
      standardError,
      `${reason}percolatordb: the process exits while a write begins, so it is killed to let other processes write. Close the database before you exit.\n`,
    );
  } catch {
    // The stream is closed, so the message is lost.
  }
  process.kill(process.pid, "SIGKILL");
}
