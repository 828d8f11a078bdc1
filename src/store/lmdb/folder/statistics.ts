import { closeSync, fstatSync, openSync, statfsSync, statSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { dataFileName } from "../file/folder.js";
import { lockHolder } from "../file/lock-holder.js";
import { DataFile, readsPages } from "../file/pages.js";
import type { Root } from "../record/databases.js";
import type { SharedFolder } from "./shared-folder.js";

/**
 * The largest memory map, in bytes. The map grows by itself up to the address space of a process:
 * 128 TiB on 64-bit processors.
 */
const maxMapBytes = arch() === "arm" || arch() === "ia32" ? 2 ** 31 : 2 ** 47;

/** Figures of an open folder. */
export function folderStatistics({
  path,
  databases,
  timesMended,
}: SharedFolder): Readonly<Record<string, number>> {
  const file = statSync(join(path, dataFileName));
  const { cells, versions, protocol, root } = databases;
  const environment = cells.getStats();
  return {
    bytes: file.size,
    bytesAllocated: file.blocks * 512,
    ...diskStatistics(path),
    mapBytes: number(environment.mapSize),
    maxMapBytes,
    pageBytes: number(environment.pageSize),
    pages: number(environment.lastPageNumber) + 1,
    ...freePages(path, root),
    readers: number(environment.numReaders),
    maxReaders: number(environment.maxReaders),
    staleReadersCleared: root.readerCheck(),
    transactions: number(environment.lastTxnId),
    // The other process that holds the lock at this moment. 0 if none does, or if the system does
    // not tell.
    writeLockHeldByProcess: lockHolder(path, "write")?.process ?? 0,
    timesMended,
    ...writingStatistics(environment),
    cells: number(environment.entryCount),
    versions: number(versions.getStats().entryCount),
    protocol: number(protocol.getStats().entryCount),
  };
}

/** The pages that will be used again before the file grows. Empty on machines that cannot read them. */
function freePages(path: string, root: Root): Readonly<Record<string, number>> {
  if (!readsPages) return {};
  root.resetReadTxn();
  // Keeps the pages of the free list in place.
  const pin = root.useReadTransaction();
  try {
    const file = openSync(join(path, dataFileName), "r");
    try {
      const data = new DataFile(file, fstatSync(file).size);
      return { pagesFree: data.freePages(data.newest(), Number.POSITIVE_INFINITY).pages };
    } finally {
      closeSync(file);
    }
  } finally {
    pin.done();
  }
}

/** Figures of the disk with the folder. Empty on systems that do not report them. */
function diskStatistics(path: string): Readonly<Record<string, number>> {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return { diskBytes: blocks * bsize, diskFreeBytes: bavail * bsize };
  } catch {
    return {};
  }
}

/**
 * Figures of this process since it opened the folder. They stay 0 until this process has written a
 * page, because LMDB counts the opening of a folder for reading as transactions of several hours.
 */
function writingStatistics(counted: Record<string, unknown>) {
  const environment: Record<string, unknown> = number(counted.pagesWritten) === 0 ? {} : counted;
  return {
    writeTransactions: number(environment.txns),
    pagesWritten: number(environment.pagesWritten),
    // Time until LMDB's write lock was free. One process at a time holds it.
    writeLockWaitMs: milliseconds(environment.timeStartTxns),
    // The total time with the lock. It includes `writeFillMs`, while the write thread waited for
    // puts, and `pageWriteMs`, while it wrote pages.
    writeTransactionMs: milliseconds(environment.timeDuringTxns),
    writeFillMs: milliseconds(environment.timeTxnWaiting),
    pageWriteMs: milliseconds(environment.timePageFlushes),
    flushMs: milliseconds(environment.timeSync),
  };
}

function milliseconds(seconds: unknown): number {
  return number(seconds) * 1_000;
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
