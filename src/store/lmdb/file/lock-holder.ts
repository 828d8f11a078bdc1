import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync, writeSync } from "node:fs";
import { arch, endianness, platform } from "node:os";
import { join } from "node:path";

/** LMDB's locks. A process that holds one makes the other processes wait. */
export type LockName = "write" | "flush";

/** The process that holds one of LMDB's locks. */
export interface LockHolder {
  /** Id of the thread that the lock file names. */
  readonly thread: number;
  readonly process: number;
  /** The process's program, as the system shows it. */
  readonly program: string;
  /**
   * LMDB's last committed transaction. If the transaction and the thread stay the same, the thread
   * has held the lock without a break.
   */
  readonly transaction: bigint;
  /**
   * Whether the process was stopped by SIGSTOP or a debugger. It runs again only when it is
   * continued.
   */
  readonly isStopped: boolean;
}

const lockFileName = "lock.mdb";

/**
 * Where the lock file names the thread that holds a lock. The locks are robust mutexes of glibc,
 * and the first is at byte 24.
 */
const mutexBytes: Readonly<Record<string, number>> = { x64: 40, arm64: 48 };
const firstMutex = 24;
const lastTransaction = 8;
const ownerInMutex = 8;
const kindInMutex = 16;
/** The kind of a mutex of glibc that processes share, and that outlives its owner. */
const sharedAndRobust = 0x90;
const order: Readonly<Record<LockName, number>> = { write: 1, flush: 2 };

/**
 * The other process that holds one of LMDB's locks on a folder. It works on Linux, by reading
 * LMDB's lock file. Undefined on other systems, or if the lock file names no process that has the
 * file open.
 */
export function lockHolder(folder: string, lock: LockName): LockHolder | undefined {
  try {
    const path = join(folder, lockFileName);
    const { thread, transaction } = readLock(path, lock) ?? { thread: 0, transaction: 0n };
    return thread <= 0 ? undefined : describe(thread, path, transaction);
  } catch {
    // The lock file is missing, or the process has ended meanwhile.
    return undefined;
  }
}

/**
 * Whether a running thread of any process holds one of LMDB's locks on a folder. Undefined if this
 * cannot be known.
 */
export function isLocked(folder: string, lock: LockName): boolean | undefined {
  try {
    const holding = readLock(join(folder, lockFileName), lock);
    return holding && holding.thread > 0 && existsSync(`/proc/${holding.thread}`);
  } catch (error) {
    // Without a lock file, no process has the folder open.
    return error instanceof Error && "code" in error && error.code === "ENOENT" ? false : undefined;
  }
}

/** The thread that holds the lock, or 0. Undefined if the lock file is not as described above. */
function readLock(path: string, lock: LockName) {
  const bytes = platform() === "linux" && endianness() === "LE" ? mutexBytes[arch()] : undefined;
  const head = bytes && readHead(path, firstMutex + 3 * bytes);
  if (!head) return undefined;
  const mutex = firstMutex + order[lock] * bytes;
  if (head.readInt32LE(mutex + kindInMutex) !== sharedAndRobust) return undefined;
  const transaction = head.readBigUInt64LE(lastTransaction);
  return { thread: head.readInt32LE(mutex + ownerInMutex), transaction };
}

const memoryFile = "/proc/self/mem";

/**
 * If this process has the file open, this function reads the file from this process's memory.
 * Opening and closing the file would release this process's locks on it. By these locks, other
 * processes see that this process runs.
 */
function readHead(path: string, length: number): Buffer | undefined {
  const address = mappedAt(path);
  const file = openSync(address === undefined ? path : memoryFile, "r");
  try {
    const bytes = Buffer.alloc(length);
    return readSync(file, bytes, 0, length, address ?? 0) === length ? bytes : undefined;
  } finally {
    closeSync(file);
  }
}

/**
 * Writes into this process's memory of the lock file, without opening the file. Returns false if the
 * system does not allow that.
 */
export function writeMapped(path: string, bytes: Buffer, at: number): boolean {
  try {
    const address = mappedAt(path);
    if (address === undefined) return false;
    const memory = openSync(memoryFile, "r+");
    try {
      return writeSync(memory, bytes, 0, bytes.length, address + at) === bytes.length;
    } finally {
      closeSync(memory);
    }
  } catch {
    return false;
  }
}

function mappedAt(path: string): number | undefined {
  const name = mappedName(path);
  const line = readFileSync("/proc/self/maps", "utf8")
    .split("\n")
    .find((each) => each.endsWith(` ${name}`));
  return line === undefined ? undefined : Number.parseInt(line, 16);
}

/**
 * The file's name in the system's list of what a process maps. The list has one line for each mapping. If
 * the folder was moved since LMDB opened it, and a link stands in its place, the list has the new path.
 */
function mappedName(path: string): string {
  return realpathSync(path).replaceAll("\n", "\\012");
}

function describe(thread: number, lockFile: string, transaction: bigint): LockHolder | undefined {
  const status = readFileSync(`/proc/${thread}/status`, "utf8");
  const owner = Number(/^Tgid:\s*(\d+)$/m.exec(status)?.[1]);
  if (owner === process.pid || !maps(owner, lockFile)) return undefined;
  const program = readFileSync(`/proc/${owner}/cmdline`, "utf8").split("\0").filter(Boolean).join(" ");
  return {
    thread,
    process: owner,
    program: program.slice(0, 200),
    transaction,
    isStopped: /^State:\s*[Tt]/m.test(status),
  };
}

/** Whether a process has the file open. True if this user has no permission to find out. */
function maps(owner: number, path: string): boolean {
  try {
    return readFileSync(`/proc/${owner}/maps`, "utf8").includes(` ${mappedName(path)}\n`);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}
