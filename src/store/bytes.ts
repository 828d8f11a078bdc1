import { asBuffer } from "../schema/index.js";

export { asBuffer };

/**
 * Less than 0 if `a` sorts before `b` in byte order, 0 if they are equal, more than 0 otherwise.
 */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/**
 * Whether two byte strings are equal. It compares from the end, since keys of one table often share
 * their beginning.
 */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}

type WriteUtf8 = (this: Uint8Array, text: string, at: number, most: number) => number;

/** What `Buffer.write` calls after it has looked at its arguments, which takes longer than a key. */
const { utf8Write } = Buffer.prototype as Partial<{ readonly utf8Write: WriteUtf8 }>;

/** Writes the UTF-8 of a string at `at`, and U+FFFD for a lone surrogate. Returns how many bytes it wrote. */
export function writeUtf8(target: Uint8Array, text: string, at: number): number {
  if (utf8Write === undefined) return asBuffer(target).write(text, at, "utf8");
  return utf8Write.call(target, text, at, target.length - at);
}

/**
 * The bytes as a string with one character per byte. Maps use it as a key. The strings sort like
 * the bytes.
 */
export function byteString(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("latin1");
}

/** The smallest byte string that sorts after `bytes`: `bytes` with one NUL byte appended. */
export function successor(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length + 1);
  result.set(bytes);
  return result;
}

/** Writes a timestamp as 8 bytes, most significant first. */
export function writeTimestamp(target: Uint8Array, at: number, timestamp: number): void {
  const high = Math.floor(timestamp / 0x1_0000_0000);
  const low = timestamp >>> 0;
  target[at] = high >>> 24;
  target[at + 1] = high >>> 16;
  target[at + 2] = high >>> 8;
  target[at + 3] = high;
  target[at + 4] = low >>> 24;
  target[at + 5] = low >>> 16;
  target[at + 6] = low >>> 8;
  target[at + 7] = low;
}

/** Reads what {@link writeTimestamp} wrote. */
export function readTimestamp(source: Uint8Array, at: number): number {
  const high =
    ((source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8) | source[at + 3]!) >>> 0;
  const low =
    ((source[at + 4]! << 24) | (source[at + 5]! << 16) | (source[at + 6]! << 8) | source[at + 7]!) >>> 0;
  return high * 0x1_0000_0000 + low;
}
