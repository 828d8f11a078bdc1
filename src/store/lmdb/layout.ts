import type { Part } from "../cell.js";
import { readTimestamp, writeTimestamp } from "./key.js";

/** Version of the layout below; a newer one is refused. See docs/decisions/embedded-layout.md. */
export const formatVersion = 1;
export const formatName = "percolatordb";

/** What a cell's entry says about it, in its first byte. Exact: a flag stands if and only if such a version does. */
export const flags = Object.freeze({
  lock: 1,
  /** The newest write record's timestamp and bytes follow. */
  write: 2,
  data: 4,
  txn: 8,
  /** Older write records stand in `versions`. */
  older: 16,
  /** The newest write record's bytes stand in `versions`, because they are many; only its timestamp follows. */
  far: 32,
});

/** Flag byte and timestamp. */
export const headerBytes = 9;

/** Longer write records stand in `versions` from the start, so that to set a lock need not copy them. */
export const nearBytes = 16_384;

/** The parts that stand in `protocol`, with their codes in keys and their flags. */
export const protocolParts = Object.freeze({
  lock: { code: 0x10, flag: flags.lock },
  data: { code: 0x20, flag: flags.data },
  txn: { code: 0x30, flag: flags.txn },
});

export type ProtocolPart = Exclude<Part, "write">;

const scratch = Buffer.alloc(headerBytes + nearBytes);

/** A cell's entry. Lent until the next call. */
export function encodeEntry(cellFlags: number, timestamp: number, value: Uint8Array | undefined): Buffer {
  scratch[0] = cellFlags;
  if ((cellFlags & flags.write) === 0) return scratch.subarray(0, 1);
  writeTimestamp(scratch, 1, timestamp);
  if (value === undefined) return scratch.subarray(0, headerBytes);
  scratch.set(value, headerBytes);
  return scratch.subarray(0, headerBytes + value.length);
}

/** The timestamp in a cell's entry. */
export function entryTimestamp(entry: Uint8Array): number {
  return readTimestamp(entry, 1);
}
