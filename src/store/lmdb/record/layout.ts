import { writeTimestamp } from "../../bytes.js";
import type { Part } from "../../cell.js";
import { damagedStore } from "./errors.js";
import type { Key } from "./key.js";
import { contentLength, sealBytes, sealInPlace } from "./seal.js";

/**
 * Version of the layout below. Opening a folder refuses a newer layout, and converts an older one.
 * See docs/decisions/embedded-layout.md.
 */
export const formatVersion = 3;
export const formatName = "percolatordb";

/**
 * The flags in the first byte of a cell's entry. They are exact: a flag is set if and only if the
 * cell has such a version.
 */
export const flags = Object.freeze({
  lock: 1,
  /** The newest write record's timestamp and bytes follow the flags. */
  write: 2,
  data: 4,
  txn: 8,
  /** `versions` has older write records of the cell. */
  older: 16,
  /**
   * The newest write record is too long for the entry, so `versions` has its bytes. Only the
   * record's timestamp follows the flags.
   */
  far: 32,
  /** Some older write records follow the newest one: see `inline-history.ts`. */
  inline: 64,
});

const allFlags = 127;

/** Size of the flag byte and the timestamp. */
export const headerBytes = 9;

/**
 * Size of the flag byte, the timestamp and the newest write record's length. An entry contains the
 * record's length only if older records follow the newest one.
 */
export const inlineHeaderBytes = 11;

/**
 * The most bytes of older write records in an entry. Up to this size, a new version of a cell
 * usually changes one page.
 */
export const maxInlineBytes = 384;

/**
 * If the newest write record is longer than this, its entry holds no older ones, because LMDB keeps
 * long values on separate pages.
 */
export const maxNewestBytesOfInline = 1_024;

/**
 * A write record that is longer than this goes into `versions` as soon as it is written. Otherwise
 * setting a lock would copy the record, because a lock changes the flags in the cell's entry.
 */
export const nearBytes = 16_384;

/** The parts in `protocol`, with their codes in keys and their flags. */
export const protocolParts = Object.freeze({
  lock: { code: 0x10, flag: flags.lock },
  data: { code: 0x20, flag: flags.data },
  txn: { code: 0x30, flag: flags.txn },
});

export type ProtocolPart = Exclude<Part, "write">;

const longestEntry = inlineHeaderBytes + nearBytes + sealBytes;

const scratch = Buffer.alloc(inlineHeaderBytes + nearBytes + sealBytes);

/** A cell's entry with its seal, in a buffer that is valid until the next call. */
export function encodeEntry(
  key: Key,
  cellFlags: number,
  timestamp: number,
  value: Uint8Array | undefined,
  inline: Uint8Array,
): Buffer {
  const length = fillEntry(cellFlags, timestamp, value, inline);
  return scratch.subarray(0, sealInPlace(key, scratch, length));
}

function fillEntry(
  cellFlags: number,
  timestamp: number,
  value: Uint8Array | undefined,
  inline: Uint8Array,
): number {
  scratch[0] = cellFlags;
  if ((cellFlags & flags.write) === 0) return 1;
  writeTimestamp(scratch, 1, timestamp);
  if (value === undefined) return headerBytes;
  const start = newestStart(cellFlags);
  const end = start + value.length;
  scratch.set(value, start);
  if (start === headerBytes) return end;
  scratch.writeUInt16BE(value.length, headerBytes);
  scratch.set(inline, end);
  return end + inline.length;
}

/** Where the newest write record's bytes begin in an entry with these flags. */
export function newestStart(cellFlags: number): number {
  return (cellFlags & flags.inline) === 0 ? headerBytes : inlineHeaderBytes;
}

/**
 * Where the newest write record's bytes end in a checked entry of `length` bytes. The older records
 * begin there.
 */
export function newestEnd(entry: Uint8Array, length: number): number {
  if ((entry[0]! & flags.inline) === 0) return length;
  return inlineHeaderBytes + ((entry[headerBytes]! << 8) | entry[headerBytes + 1]!);
}

/**
 * The length of a cell's entry without its seal. `recordLength` includes the seal. Throws if the
 * entry is damaged.
 */
export function openEntry(entry: Uint8Array, recordLength: number, sumOfKey: number): number {
  if (recordLength > longestEntry) throw damagedStore(`a cell's entry of ${recordLength} bytes`);
  const length = contentLength(entry, recordLength, sumOfKey);
  const cellFlags = length > 0 ? entry[0]! : 0;
  const sound =
    (cellFlags & flags.write) !== 0 ? isWritten(entry, length) : length === 1 && isUnwritten(cellFlags);
  if (!sound) throw damagedStore(`a cell's entry of ${length} bytes that begins with ${cellFlags}`);
  return length;
}

function isWritten(entry: Uint8Array, length: number): boolean {
  if (length < headerBytes || entry[0]! > allFlags) return false;
  if ((entry[0]! & flags.far) !== 0 && length !== headerBytes) return false;
  if ((entry[0]! & flags.inline) !== 0 && (length < inlineHeaderBytes || newestEnd(entry, length) >= length))
    return false;
  // No timestamp is beyond the safe integers.
  return entry[1] === 0 && entry[2]! < 0x20;
}

function isUnwritten(cellFlags: number): boolean {
  return cellFlags !== 0 && (cellFlags & ~(flags.lock | flags.data | flags.txn)) === 0;
}
