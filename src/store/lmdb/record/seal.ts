import { storeLimits } from "../../check.js";
import { checksum, keySum } from "./checksum.js";
import { damagedStore } from "./errors.js";
import type { Key } from "./key.js";

/**
 * Every record of this package ends with a checksum over its key and its bytes: its seal. The seal
 * shows if the disk changed a value, or if a record is under another key than the one it was
 * written under. LMDB itself has no checksums.
 */
export const sealBytes = 4;

/**
 * No record is longer. The store refuses a longer length before it reads the bytes, because a
 * damaged length could lead past the end of the file.
 */
const longestRecord = storeLimits.valueBytes + 1_024;

/** Longer records get a separate buffer. */
const scratchBytes = 65_536;
const scratch = Buffer.allocUnsafeSlow(scratchBytes);

/**
 * Appends the checksum of `record[0..length)`. `record` must be long enough for that. Returns the
 * length with the checksum.
 */
export function sealInPlace(key: Key, record: Buffer, length: number): number {
  return record.writeInt32LE(checksum(record, 0, length, key.sum), length);
}

/** The content and its checksum, in a buffer that is valid until the next call. */
export function sealed(key: Key, content: Uint8Array): Buffer {
  const { length } = content;
  const whole = length + sealBytes;
  const record = whole <= scratchBytes ? scratch : Buffer.allocUnsafeSlow(whole);
  record.set(content);
  return record.subarray(0, sealInPlace(key, record, length));
}

/**
 * The length of the content of a record of `length` bytes. Throws a `StoreDamagedError` if the
 * checksum is wrong.
 */
export function contentLength(record: Uint8Array, length: number, sumOfKey: number): number {
  const end = length - sealBytes;
  if (end < 0 || length > longestRecord) throw damagedStore(`a record of ${length} bytes`);
  const stands = record[end]! | (record[end + 1]! << 8) | (record[end + 2]! << 16) | (record[end + 3]! << 24);
  if (checksum(record, 0, end, sumOfKey) !== stands) throw damagedStore("a record whose checksum is wrong");
  return end;
}

/** Checks the checksum of a record found under `key`, and returns a copy of its content. */
export function checkedContent(key: Key, record: Uint8Array): Buffer {
  const length = contentLength(record, record.length, keySum(key.bytes, 0, key.length));
  return Buffer.from(record.subarray(0, length));
}
