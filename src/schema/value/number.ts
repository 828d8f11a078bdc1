/**
 * Encodes numbers to bytes that sort as the numbers do.
 *
 * An int takes one to eight bytes: a first byte, and the n bytes of its magnitude. The first byte
 * is 0x80 + n, or 0x80 - n for a negative number. The magnitude is most significant byte first. For
 * a negative number, each of its bytes is inverted. n is as small as possible, and 0 for zero.
 *
 * A float takes its eight IEEE 754 bytes, most significant first. For a positive number, the sign
 * bit is inverted. For a negative number, all bits are inverted.
 */

/** The most bytes of an encoded int. */
export const intBytes = 8;

/** The bytes of an encoded float. */
export const floatBytes = 8;

/** Writes a safe integer at `at`, and returns the position after it. -0 becomes 0. */
export function writeInt(value: number, out: Buffer, at: number): number {
  const invert = value < 0 ? 0xff : 0;
  let rest = Math.abs(value);
  const length = magnitudeBytes(rest);
  out[at] = value < 0 ? 0x80 - length : 0x80 + length;
  for (let i = at + length; i > at; i--) {
    out[i] = (rest % 256) ^ invert;
    rest = Math.floor(rest / 256);
  }
  return at + 1 + length;
}

/** The length in bytes of an int whose first byte is `first`. 0 if no int begins with that byte. */
export function intLength(first: number): number {
  const length = Math.abs(first - 0x80);
  return length < intBytes ? 1 + length : 0;
}

/**
 * Reads an int at `at` of `length` bytes, as {@link intLength} gives it. Undefined if
 * {@link writeInt} never writes these bytes.
 */
export function readInt(buffer: Buffer, at: number, length: number): number | undefined {
  if (length === 1) return 0;
  const negative = buffer[at]! < 0x80;
  const invert = negative ? 0xff : 0;
  if (buffer[at + 1] === invert) return undefined;
  let value = 0;
  for (let i = at + 1; i < at + length; i++) value = value * 256 + (buffer[i]! ^ invert);
  if (!Number.isSafeInteger(value)) return undefined;
  return negative ? -value : value;
}

function magnitudeBytes(magnitude: number): number {
  let length = 0;
  for (let reach = 1; magnitude >= reach; reach *= 256) length++;
  return length;
}

/** Writes any number but NaN at `at`, and returns the position after it. */
export function writeSortableFloat(value: number, out: Buffer, at: number): number {
  out.writeDoubleBE(value, at);
  flip(out, at, (out[at]! & 0x80) !== 0);
  return at + floatBytes;
}

/**
 * Reads a number that {@link writeSortableFloat} wrote. Undefined if it never writes these bytes.
 */
export function readSortableFloat(buffer: Buffer, at: number): number | undefined {
  scratch.set(buffer.subarray(at, at + floatBytes));
  flip(scratch, 0, (scratch[0]! & 0x80) === 0);
  const value = scratch.readDoubleBE(0);
  return Number.isNaN(value) ? undefined : value;
}

const scratch = Buffer.alloc(floatBytes);

function flip(bytes: Buffer, at: number, all: boolean): void {
  bytes[at] = bytes[at]! ^ (all ? 0xff : 0x80);
  if (all) for (let i = at + 1; i < at + floatBytes; i++) bytes[i] = bytes[i]! ^ 0xff;
}
