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
import { arch, endianness, platform } from "node:os";
import { dirname } from "node:path";
import { StoreError } from "../../../errors/index.js";
import type { Root } from "../record/databases.js";
import { DataFile, type Meta, metaRecord } from "./pages.js";

/**
 * Makes sure, before this process writes its first page, that the newest state of the file is
 * flushed, and named as the flushed one.
 *
 * LMDB takes the newest state that it finds when it opens a file for a flushed one, and uses pages
 * anew that no flushed state needs. But a process that was killed, or one that is just writing, has
 * newer states than the last one flushed; those pages then belong to the very state that a stop of
 * the machine falls back to, and until the first flush of this process ends there would be no whole
 * one. A new file's heads, too, are only written, and would not come before the first pages by
 * themselves.
 */
export function settleFlushedHead(
  root: Pick<Root, "env" | "transactionSync">,
  dataFile: string,
  flushed: FlushedBefore,
): void {
  // Waits for the flush of another process that may be under way: it would name an older state than
  // the one found here.
  root.env.sync();
  let failure: unknown;
  // With LMDB's write lock in hand no newer state comes.
  root.transactionSync(() => {
    try {
      settleHead(dataFile, flushed);
    } catch (error) {
      failure = error;
    }
  });
  if (failure !== undefined) throw failure;
}

/** The same with LMDB's write lock in hand, after a flush. */
export function settleHead(dataFile: string, flushedBefore: FlushedBefore): void {
  if (!isReadable()) return;
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
      nameFlushed(file, slot * data.pageSize, data.pageSize >> 1);
      if (flushedBefore === undefined) fdatasyncSync(file);
    }
  } finally {
    closeSync(file);
  }
}

/**
 * The number of LMDB's newest transaction that {@link flushUnderPermissions} has flushed. Undefined
 * if a file can be flushed at once, which is so without Node's permission model.
 */
export type FlushedBefore = number | undefined;

/**
 * Flushes the file before LMDB's locks are taken, if this process runs under Node's permission
 * model: that refuses to flush a file synchronously, which alone can be done with the locks in
 * hand. Then one write at a time is flushed by how the file is opened (`O_DSYNC`).
 */
export async function flushUnderPermissions(dataFile: string): Promise<FlushedBefore> {
  if (process.permission === undefined || !isReadable()) return undefined;
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

function isReadable(): boolean {
  return endianness() === "LE" && arch() !== "arm" && arch() !== "ia32";
}

function headOf(data: DataFile) {
  const { pair, flushed } = data.metas();
  const slot = pair[0].transaction >= pair[1].transaction ? 0 : 1;
  return { slot, newest: pair[slot], named: isNamed(pair[slot], flushed) } as const;
}

const maxFlushMs = 5_000;
const lookMs = 2;

/**
 * Another process has committed since the file was flushed here; it flushes that itself, for which
 * it needs no write lock.
 */
function untilNamed(data: DataFile, dataFile: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; waitedMs < maxFlushMs; waitedMs += lookMs) {
    if (headOf(data).named) return;
    Atomics.wait(pause, 0, 0, lookMs);
  }
  throw new StoreError(
    `The database in ${dirname(dataFile)} could not be opened: another process committed to it and did not flush that within ` +
      `${maxFlushMs / 1_000} s. Open it again.`,
    { retryable: true },
  );
}

/** Writes the first bytes of the file as they are, to a file that flushes each write. */
function rewrite(file: number, length: number): void {
  const bytes = Buffer.alloc(length);
  writeSync(file, bytes, 0, readSync(file, bytes, 0, length, 0), 0);
}

/**
 * A file that was just made: its heads go to the disk before anything else of it, and its name
 * does.
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
      // Not every system lets a folder be flushed, and not everybody may read the folder above.
    }
  }
}

function isNamed(newest: Meta, flushed: Meta | undefined): boolean {
  return newest.flushed || (flushed !== undefined && flushed.transaction >= newest.transaction);
}

/**
 * Copies the description of a state to the place of the flushed one, in one write of less than a
 * sector.
 */
function nameFlushed(file: number, from: number, to: number): void {
  const { start, end, flagsAt, unflushed } = metaRecord;
  const bytes = Buffer.alloc(end - start);
  readSync(file, bytes, 0, bytes.length, from + start);
  bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt - start) & ~unflushed, flagsAt - start);
  writeSync(file, bytes, 0, bytes.length, to + start);
}
