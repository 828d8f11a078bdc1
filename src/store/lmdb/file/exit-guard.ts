import { writeSync } from "node:fs";
import { inspect } from "node:util";
import { isMainThread } from "node:worker_threads";

/** Somebody who writes an LMDB environment. */
interface Writer {
  /**
   * Whether a write thread was started that waits for the event loop, or soon will, perhaps with
   * LMDB's write lock in hand.
   */
  readonly isBeginning: boolean;
}

const writers = new Set<Writer>();
const standardError = 2;
let uncaught: { readonly error: unknown } | undefined;
let listens = false;

/**
 * Ends the process by `SIGKILL` where it ends while a write thread waits for the event loop, which
 * will never run again: by `process.exit`, or by an error that nobody caught. Node would wait for
 * that thread for ever; the thread keeps LMDB's write lock; and the binding, which closes the
 * environment meanwhile, takes from the system what it needs to give the lock back. Every other
 * process on the folder would stand still. Of a process that was killed the lock is taken over, as
 * ever.
 *
 * To be called before LMDB is opened: its binding listens for the exit, too. Of a thread of its own
 * it can do nothing.
 */
export function guardExit(): void {
  if (listens || !isMainThread) return;
  listens = true;
  // Node says what was not caught only after the exit's listeners.
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
      `${reason}percolatordb: the process ends while a write begins, and is killed, so that others can write. Close the database first.\n`,
    );
  } catch {
    // Nobody reads it.
  }
  process.kill(process.pid, "SIGKILL");
}
