import { statSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { dataFileName } from "../file/folder.js";
import { lockHolder } from "../file/lock-holder.js";
import type { SharedFolder } from "./shared-folder.js";

/**
 * The map grows by itself, up to the address space that a process has: 128 TiB on processors of 64
 * bits.
 */
const maxMapBytes = arch() === "arm" || arch() === "ia32" ? 2 ** 31 : 2 ** 47;

/** Figures of an open folder. */
export function folderStatistics({
  path,
  databases,
  mended,
}: SharedFolder): Readonly<Record<string, number>> {
  const file = statSync(join(path, dataFileName));
  const { cells, versions, protocol, root } = databases;
  const environment = cells.getStats();
  return {
    bytes: file.size,
    bytesAllocated: file.blocks * 512,
    mapBytes: number(environment.mapSize),
    maxMapBytes,
    pageBytes: number(environment.pageSize),
    pages: number(environment.lastPageNumber) + 1,
    readers: number(environment.numReaders),
    maxReaders: number(environment.maxReaders),
    staleReadersCleared: root.readerCheck(),
    transactions: number(environment.lastTxnId),
    // Of another process, at this moment; 0 for none, and where the system does not tell.
    writeLockHeldByProcess: lockHolder(path, "write")?.process ?? 0,
    timesMended: mended,
    ...writingStatistics(environment),
    cells: number(environment.entryCount),
    versions: number(versions.getStats().entryCount),
    protocol: number(protocol.getStats().entryCount),
  };
}

/**
 * Of this process since it opened the folder; all figures above are the folder's, or of the moment.
 * LMDB counts the opening of one that is only read as transactions of hours, so that nothing counts
 * before a page was written.
 */
function writingStatistics(counted: Record<string, unknown>) {
  const environment: Record<string, unknown> = number(counted.pagesWritten) === 0 ? {} : counted;
  return {
    writeTransactions: number(environment.txns),
    pagesWritten: number(environment.pagesWritten),
    // Until LMDB's write lock was free, which one process has at a time.
    writeLockWaitMs: milliseconds(environment.timeStartTxns),
    // With the lock: all of it, the part in which the write thread waited for what was put, and
    // that in which pages were written.
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
