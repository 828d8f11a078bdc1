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

/**
 * The bytes as a string with one character per byte. Maps use it as a key. The strings sort like
 * the bytes.
 */
export function byteString(bytes: Uint8Array): string {
  const buffer =
    bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString("latin1");
}

/** The smallest byte string that sorts after `bytes`: `bytes` with one NUL byte appended. */
export function successor(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length + 1);
  result.set(bytes);
  return result;
}
