import { isUtf8 } from "node:buffer";

/** The bytes as a Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whether a string is well-formed Unicode: it has no lone surrogate, so UTF-8 can carry it. */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

const loneSurrogate = /\p{Surrogate}/u;

/**
 * Describes for messages what is wrong with a string that is not well-formed, and how to repair it.
 */
export function describeLoneSurrogate(text: string): string {
  return `a lone surrogate at index ${text.search(loneSurrogate)}, which UTF-8 cannot represent; repair it with toWellFormed()`;
}

type Utf8Slice = (this: Buffer, start: number, end: number) => string;

/** What `Buffer.toString` calls after it has looked at its arguments. */
const { utf8Slice } = Buffer.prototype as Partial<{ readonly utf8Slice: Utf8Slice }>;

/** The UTF-8 text from `start` to `end`. Undefined if the bytes are not UTF-8. */
export function decodeUtf8(buffer: Buffer, start: number, end: number): string | undefined {
  const text =
    utf8Slice === undefined ? buffer.toString("utf8", start, end) : utf8Slice.call(buffer, start, end);
  // Invalid bytes decode to U+FFFD, so only a text with that character needs the check.
  if (text.includes("\uFFFD") && !isUtf8(buffer.subarray(start, end))) return undefined;
  return text;
}
