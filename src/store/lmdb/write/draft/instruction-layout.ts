/**
 * Where a change stands in a slab, so that its key is already where an instruction for LMDB's write
 * thread has it: see `instructions.ts`.
 */

/** Flags, database and the length of the key. */
export const headBytes = 12;
const pointerBytes = 16;

/** Where the key of the next change begins, in a slab of which `used` bytes are used. */
export function keyStartAfter(used: number): number {
  return ((used + 7) & ~7) + headBytes;
}

/** Where the value of a change begins, whose key ends at `keyEnd`. */
export function valueStartAfter(keyEnd: number): number {
  return addressAt(keyEnd) + 8 + pointerBytes;
}

/** Bytes of a change apart from its key and its value, at most. */
export const instructionBytes = 7 + headBytes + 16 + 8 + pointerBytes;

/** Where the address of the value is, or the end of a removal. */
export function addressAt(keyEnd: number): number {
  return (keyEnd + 16) & ~7;
}
