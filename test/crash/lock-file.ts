import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The offsets in bytes at which LMDB's lock file names the thread that holds each lock: the lock of
 * the reader table, of writes, and of flushes. They apply to 64-bit Linux with robust mutexes.
 */
const owners = { readers: 32, write: 72, flush: 112 } as const;

export type LmdbLock = keyof typeof owners;

/**
 * Returns which of LMDB's locks a process holds according to the folder's lock file, or undefined
 * if it holds none.
 */
export function lockHeldBy(folder: string, pid: number): LmdbLock | undefined {
  try {
    const threads = new Set(readdirSync(`/proc/${pid}/task`).map(Number));
    const file = readFileSync(join(folder, "lock.mdb"));
    const held = Object.entries(owners).find(([, offset]) => threads.has(file.readInt32LE(offset)));
    return held?.[0] as LmdbLock | undefined;
  } catch {
    // The process has ended, or has not opened the database yet.
    return undefined;
  }
}
