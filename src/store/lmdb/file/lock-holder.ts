import { closeSync, openSync, readFileSync, readSync } from "node:fs";
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
const order: Readonly<Record<LockName, number>> = { write: 1, flush: 2 };

/**
 * The other process that holds one of LMDB's locks on a folder. It works on Linux, by reading
 * LMDB's lock file. Undefined on other systems, or if the lock file names no process that has the
 * file open.
 */
export function lockHolder(folder: string, lock: LockName): LockHolder | undefined {
  const bytes = platform() === "linux" && endianness() === "LE" ? mutexBytes[arch()] : undefined;
  if (bytes === undefined) return undefined;
  try {
    const path = join(folder, lockFileName);
    const head = readHead(path, firstMutex + 3 * bytes);
    const thread = head?.readInt32LE(firstMutex + order[lock] * bytes + ownerInMutex) ?? 0;
    return thread <= 0 ? undefined : describe(thread, path, head!.readBigUInt64LE(lastTransaction));
  } catch {
    // The lock file is missing, or the process has ended meanwhile.
    return undefined;
  }
}

/**
 * If this process has the file open, this function reads the file from this process's memory.
 * Opening and closing the file would release this process's locks on it. By these locks, other
 * processes see that this process runs.
 */
function readHead(path: string, length: number): Buffer | undefined {
  const address = mappedAt(path);
  const file = openSync(address === undefined ? path : "/proc/self/mem", "r");
  try {
    const bytes = Buffer.alloc(length);
    return readSync(file, bytes, 0, length, address ?? 0n) === length ? bytes : undefined;
  } finally {
    closeSync(file);
  }
}

function mappedAt(path: string): bigint | undefined {
  const line = readFileSync("/proc/self/maps", "utf8")
    .split("\n")
    .find((each) => each.endsWith(` ${path}`));
  return line === undefined ? undefined : BigInt(`0x${line.slice(0, line.indexOf("-"))}`);
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
    return readFileSync(`/proc/${owner}/maps`, "utf8").includes(` ${path}\n`);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}
