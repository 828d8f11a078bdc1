import { StoreDamagedError } from "../../errors/index.js";
import type { Part } from "../cell.js";
import { writeTimestamp } from "./key.js";

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

const allFlags = 63;

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

/** Throws for `length` bytes that can be no cell's entry: LMDB has no check sums, and gives back what is there. */
export function checkEntry(entry: Uint8Array, length: number): void {
  const cellFlags = length > 0 ? entry[0]! : 0;
  const sound =
    (cellFlags & flags.write) !== 0 ? isWritten(entry, length) : length === 1 && isUnwritten(cellFlags);
  if (!sound) throw damagedStore(`a cell's entry of ${length} bytes that begins with ${cellFlags}`);
}

function isWritten(entry: Uint8Array, length: number): boolean {
  if (length < headerBytes || entry[0]! > allFlags) return false;
  if ((entry[0]! & flags.far) !== 0 && length !== headerBytes) return false;
  // No timestamp is beyond the safe integers.
  return entry[1] === 0 && entry[2]! < 0x20;
}

function isUnwritten(cellFlags: number): boolean {
  return cellFlags !== 0 && (cellFlags & ~(flags.lock | flags.data | flags.txn)) === 0;
}

/** The error for bytes in LMDB's databases that nothing of this package has written. */
export function damagedStore(what: string): StoreDamagedError {
  return new StoreDamagedError(
    `The store holds ${what}, which cannot be: its files are damaged. Restore them from a backup.`,
  );
}
