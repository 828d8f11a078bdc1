import { types } from "node:util";

/**
 * Whether the memory of an array was transferred, such as by `postMessage`. The array then looks
 * empty, and its bytes are gone.
 */
export function isTransferred({ byteLength, buffer }: ArrayBufferView): boolean {
  if (byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length < 0;
  } catch {
    return true;
  }
}

/** Whether a value is a `Uint8Array` that has its bytes. */
export function isBytes(value: unknown): value is Uint8Array {
  return types.isUint8Array(value) && !isTransferred(value);
}
