import { isUtf8 } from "node:buffer";

/** The bytes as a Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Whether a string is well-formed Unicode: no surrogate stands alone, so that UTF-8 can carry it.
 */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

const loneSurrogate = /\p{Surrogate}/u;

/** What is wrong with a string that is not well-formed, and what to do, for messages. */
export function describeLoneSurrogate(text: string): string {
  return `a lone surrogate at index ${text.search(loneSurrogate)}, which UTF-8 cannot carry; repair it with toWellFormed()`;
}

/** UTF-8 from `start` to `end`, or `undefined` where the bytes are not UTF-8. */
export function decodeUtf8(buffer: Buffer, start: number, end: number): string | undefined {
  const text = buffer.toString("utf8", start, end);
  // What is not UTF-8 decodes to U+FFFD; only a text that shows one is worth a closer look.
  if (text.includes("\uFFFD") && !isUtf8(buffer.subarray(start, end))) return undefined;
  return text;
}
