import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Where LMDB's lock file names the thread that holds each of its locks (64-bit Linux, robust mutexes): of the reader table, of
 * writing, of flushing.
 */
const owners = { readers: 32, write: 72, flush: 112 } as const;

export type LmdbLock = keyof typeof owners;

/** Which of LMDB's locks a process holds, as the folder's lock file says; undefined for none. */
export function lockHeldBy(folder: string, pid: number): LmdbLock | undefined {
  try {
    const threads = new Set(readdirSync(`/proc/${pid}/task`).map(Number));
    const file = readFileSync(join(folder, "lock.mdb"));
    const held = Object.entries(owners).find(([, offset]) => threads.has(file.readInt32LE(offset)));
    return held?.[0] as LmdbLock | undefined;
  } catch {
    // Ended, or not yet opened.
    return undefined;
  }
}
