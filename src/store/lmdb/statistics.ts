import { statSync } from "node:fs";
import { join } from "node:path";
import { dataFileName } from "./folder.js";
import type { SharedFolder } from "./shared-folder.js";

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
    pageBytes: number(environment.pageSize),
    pages: number(environment.lastPageNumber) + 1,
    readers: number(environment.numReaders),
    maxReaders: number(environment.maxReaders),
    staleReadersCleared: root.readerCheck(),
    transactions: number(environment.lastTxnId),
    timesMended: mended,
    cells: number(environment.entryCount),
    versions: number(versions.getStats().entryCount),
    protocol: number(protocol.getStats().entryCount),
  };
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
