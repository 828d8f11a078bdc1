import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { platform } from "node:os";
import { dirname } from "node:path";
import { StoreError } from "../../../errors/index.js";
import type { Root } from "../record/databases.js";
import { bootNumber } from "./boot-number.js";
import { DataFile, type Meta, metaRecord, readsPages } from "./pages.js";

/**
 * Makes sure that the newest state of the file is flushed and recorded as flushed, before this
 * process writes its first page.
 *
 * When LMDB opens a file, it assumes that the newest state in the file was flushed, and reuses
 * pages that no flushed state needs. But a process that was killed, or one that is writing now, may
 * have left states newer than the last flushed one. If the machine then stopped, LMDB would fall
 * back to the last flushed state, but this process may have reused the pages of that state. Until
 * the first flush of this process, the file would have no intact state.
 *
 * LMDB also does not flush the heads (meta pages) of a new file. Without this function, the heads
 * might reach the disk after the first pages.
 */
export function settleFlushedHead(
  root: Pick<Root, "env" | "transactionSync">,
  dataFile: string,
  flushed: FlushedBefore,
): void {
  // Waits for a flush that another process is running. That flush could otherwise end later, and
  // record an older state than the one found here.
  root.env.sync();
  let failure: unknown;
  // While this process holds LMDB's write lock, no newer state can appear.
  root.transactionSync(() => {
    try {
      settleHead(dataFile, flushed);
    } catch (error) {
      failure = error;
    }
  });
  if (failure !== undefined) throw failure;
}

/**
 * Makes a file an empty database if the machine stopped before its first commit was flushed. Call it before
 * LMDB opens the file. `isAlone`: whether no other process can be opening the file. If one can, throws.
 *
 * The only flushed state of such a file is the empty one, number 0. LMDB would go back to it, and
 * number its copy of it −1. As an unsigned number that is the newest state there can be, so that no
 * transaction could follow.
 */
export function undoFirstCommit(dataFile: string, isAlone: boolean): void {
  if (!readsPages || !existsSync(dataFile)) return;
  const file = openSync(dataFile, "r+");
  try {
    const { size } = fstatSync(file);
    if (size === 0) return;
    const data = new DataFile(file, size);
    const [first, second] = data.metas().pair;
    if (first.transaction !== 0 || second.transaction === 0) return;
    const isUndoneByLmdb = second.transaction > Number.MAX_SAFE_INTEGER;
    if (!isUndoneByLmdb && data.beginning(bootNumber()).transaction !== 0) return;
    if (!isAlone) {
      throw new StoreError(
        `The database in ${dirname(dataFile)} could not be opened: the machine stopped while it was made, and another process ` +
          "that does not go on may be making it again. Continue or end that process, and try again.",
        { retryable: true },
      );
    }
    copyState(file, 0, data.pageSize);
  } finally {
    closeSync(file);
  }
}

/** Like {@link settleFlushedHead}, for a caller that holds LMDB's write lock and has flushed. */
export function settleHead(dataFile: string, flushedBefore: FlushedBefore): void {
  if (!readsPages) return;
  const flags = flushedBefore === undefined ? "r+" : constants.O_RDWR | (constants.O_DSYNC ?? 0);
  const file = openSync(dataFile, flags);
  try {
    const data = new DataFile(file, fstatSync(file).size);
    const { slot, newest, named } = headOf(data);
    if (newest.transaction === 0) {
      if (flushedBefore === undefined) settleNew(file, dataFile);
      else rewrite(file, 2 * data.pageSize);
    } else if (!named && flushedBefore !== undefined && flushedBefore < newest.transaction) {
      untilNamed(data, dataFile);
    } else if (!named) {
      if (flushedBefore === undefined) fdatasyncSync(file);
      copyState(file, slot * data.pageSize, data.pageSize >> 1);
      if (flushedBefore === undefined) fdatasyncSync(file);
    }
  } finally {
    closeSync(file);
  }
}

/**
 * The number of LMDB's newest transaction that {@link flushUnderPermissions} has flushed. Undefined
 * without Node's permission model, because a file can then be flushed synchronously.
 */
export type FlushedBefore = number | undefined;

/**
 * Flushes the file before this process takes LMDB's locks, if the process runs under Node's
 * permission model. The model forbids a synchronous flush, and no other flush is possible while the
 * process holds the locks. To flush what it writes under the locks, the process opens the file with
 * `O_DSYNC`, which flushes each write.
 */
export async function flushUnderPermissions(dataFile: string): Promise<FlushedBefore> {
  if (process.permission === undefined || !readsPages) return undefined;
  if (!existsSync(dataFile)) return 0;
  const file = await open(dataFile, "r+");
  try {
    const { size } = await file.stat();
    if (size === 0) return 0;
    const { transaction } = headOf(new DataFile(file.fd, size)).newest;
    await file.datasync();
    return transaction;
  } finally {
    await file.close();
  }
}

function headOf(data: DataFile) {
  const { pair, flushed } = data.metas();
  const slot = pair[0].transaction >= pair[1].transaction ? 0 : 1;
  return { slot, newest: pair[slot], named: isNamed(pair[slot], flushed) } as const;
}

const maxFlushMs = 5_000;
const lookMs = 2;

/**
 * Waits until another process has flushed the commit that it made after this process flushed the
 * file. The wait can end although this process holds LMDB's write lock, because the other process
 * needs no write lock to flush.
 */
function untilNamed(data: DataFile, dataFile: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; waitedMs < maxFlushMs; waitedMs += lookMs) {
    if (headOf(data).named) return;
    Atomics.wait(pause, 0, 0, lookMs);
  }
  throw new StoreError(
    `The database in ${dirname(dataFile)} could not be opened: another process committed to it and did not flush the commit within ` +
      `${maxFlushMs / 1_000} s. Try to open it again.`,
    { retryable: true },
  );
}

/**
 * Writes the first `length` bytes of the file again, unchanged. The file was opened with `O_DSYNC`,
 * so this write is flushed.
 */
function rewrite(file: number, length: number): void {
  const bytes = Buffer.alloc(length);
  writeSync(file, bytes, 0, readSync(file, bytes, 0, length, 0), 0);
}

/**
 * Flushes a new file's heads before any other page of the file is written. Then flushes its
 * directory entry.
 */
function settleNew(file: number, dataFile: string): void {
  fdatasyncSync(file);
  if (platform() === "win32") return;
  const folder = dirname(dataFile);
  for (const each of [folder, dirname(folder)]) {
    try {
      const handle = openSync(each, "r");
      try {
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
    } catch {
      // Some systems cannot flush a folder, and some users may not read the parent folder.
    }
  }
}

function isNamed(newest: Meta, flushed: Meta | undefined): boolean {
  return newest.flushed || (flushed !== undefined && flushed.transaction >= newest.transaction);
}

/**
 * Copies the description of a state over another one, and describes it as flushed. The copy is one
 * write of less than a disk sector, so it cannot be torn.
 */
function copyState(file: number, from: number, to: number): void {
  const { start, end, flagsAt, unflushed } = metaRecord;
  const bytes = Buffer.alloc(end - start);
  readSync(file, bytes, 0, bytes.length, from + start);
  bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt - start) & ~unflushed, flagsAt - start);
  writeSync(file, bytes, 0, bytes.length, to + start);
}
