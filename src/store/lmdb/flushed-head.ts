import { closeSync, fdatasyncSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { arch, endianness, platform } from "node:os";
import { dirname } from "node:path";
import type { Root } from "./databases.js";
import { DataFile, type Meta, metaRecord } from "./pages.js";

/**
 * Makes sure, before this process writes its first page, that the newest state of the file is flushed, and named as the flushed one.
 *
 * LMDB takes the newest state that it finds when it opens a file for a flushed one, and uses pages anew that no flushed state
 * needs. But a process that was killed, or one that is just writing, has newer states than the last one flushed; those pages
 * then belong to the very state that a stop of the machine falls back to, and until the first flush of this process ends there would be no whole one.
 * A new file's heads, too, are only written, and would not come before the first pages by themselves.
 */
export function settleFlushedHead(root: Pick<Root, "env" | "transactionSync">, dataFile: string): void {
  // Waits for the flush of another process that may be under way: it would name an older state than the one found here.
  root.env.sync();
  let failure: unknown;
  // With LMDB's write lock in hand no newer state comes.
  root.transactionSync(() => {
    try {
      settleHead(dataFile);
    } catch (error) {
      failure = error;
    }
  });
  if (failure !== undefined) throw failure;
}

/** The same with LMDB's write lock in hand, after a flush. */
export function settleHead(dataFile: string): void {
  if (endianness() !== "LE" || arch() === "arm" || arch() === "ia32") return;
  const file = openSync(dataFile, "r+");
  try {
    const data = new DataFile(file, fstatSync(file).size);
    const { pair, flushed } = data.metas();
    const slot = pair[0].transaction >= pair[1].transaction ? 0 : 1;
    if (pair[slot].transaction === 0) {
      settleNew(file, dataFile);
    } else if (!isNamed(pair[slot], flushed)) {
      fdatasyncSync(file);
      nameFlushed(file, slot * data.pageSize, data.pageSize >> 1);
      fdatasyncSync(file);
    }
  } finally {
    closeSync(file);
  }
}

/** A file that was just made: its heads go to the disk before anything else of it, and its name does. */
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

/** Copies the description of a state to the place of the flushed one, in one write of less than a sector. */
function nameFlushed(file: number, from: number, to: number): void {
  const { start, end, flagsAt, unflushed } = metaRecord;
  const bytes = Buffer.alloc(end - start);
  readSync(file, bytes, 0, bytes.length, from + start);
  bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt - start) & ~unflushed, flagsAt - start);
  writeSync(file, bytes, 0, bytes.length, to + start);
}
