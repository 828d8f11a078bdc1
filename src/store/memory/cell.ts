import type { CellView, Part, PartVersion, Version } from "../cell.js";
import { parts } from "../cell.js";

/** One column of one row: the versions of each part, newest first. */
export interface MemoryCell {
  readonly key: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  readonly lock: Version[];
  readonly write: Version[];
  readonly data: Version[];
  readonly txn: Version[];
}

/**
 * How many data cells a view shows. The data cell that a write record names is usually among the
 * newest.
 */
const dataCellsShown = 4;

/**
 * The first index whose version's timestamp is at or below `timestamp`. Versions are sorted newest
 * first.
 */
export function indexAtOrBelow(versions: readonly Version[], timestamp: number): number {
  let low = 0;
  let high = versions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (versions[middle]!.timestamp <= timestamp) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first index whose version's timestamp is below `timestamp`. */
export function indexBelow(versions: readonly Version[], timestamp: number): number {
  const index = indexAtOrBelow(versions, timestamp);
  return versions[index]?.timestamp === timestamp ? index + 1 : index;
}

/** Whether a version with `from <= timestamp < to` exists. */
export function hasVersion(versions: readonly Version[], from: number, to: number): boolean {
  const newest = versions[indexBelow(versions, to)];
  return newest !== undefined && newest.timestamp >= from;
}

export function putVersion(versions: Version[], version: Version): void {
  const index = indexAtOrBelow(versions, version.timestamp);
  versions.splice(index, versions[index]?.timestamp === version.timestamp ? 1 : 0, version);
}

export function deleteVersions(versions: Version[], from: number, to: number): void {
  const start = indexBelow(versions, to);
  const end = indexBelow(versions, from);
  if (end > start) versions.splice(start, end - start);
}

/** Another cell with the same versions. Later changes of one do not affect the other. */
export function copyCell(cell: MemoryCell): MemoryCell {
  const { lock, write, data, txn } = cell;
  return { ...cell, lock: lock.slice(), write: write.slice(), data: data.slice(), txn: txn.slice() };
}

export function isEmpty(cell: MemoryCell): boolean {
  return parts.every((part) => cell[part].length === 0);
}

/**
 * The cell as a transaction at `at` sees it. Undefined if it sees neither a lock nor a write
 * record.
 */
export function viewCell(cell: MemoryCell, at: number): CellView | undefined {
  const writeIndex = indexAtOrBelow(cell.write, at);
  const write = cell.write[writeIndex];
  const lock = cell.lock[indexAtOrBelow(cell.lock, at)];
  if (write === undefined && lock === undefined) return undefined;
  const dataIndex = indexAtOrBelow(cell.data, at);
  return {
    column: cell.column,
    lock,
    write,
    latest: writeIndex === 0,
    data: cell.data.slice(dataIndex, dataIndex + dataCellsShown),
  };
}

/** The cell's versions of `wanted` parts with `from <= timestamp < to`. */
export function rawVersions(
  cell: MemoryCell,
  wanted: readonly Part[],
  from: number,
  to: number,
  most: number,
): PartVersion[] {
  const result: PartVersion[] = [];
  for (const part of parts) {
    if (!wanted.includes(part)) continue;
    const versions = cell[part];
    const start = indexBelow(versions, to);
    const end = Math.min(indexBelow(versions, from), start + most);
    for (let i = start; i < end; i++) {
      result.push({ part, timestamp: versions[i]!.timestamp, value: versions[i]!.value });
    }
  }
  return result;
}
