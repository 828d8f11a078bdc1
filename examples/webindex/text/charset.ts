import { isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import { getEncoding } from "encoding-sniffer";
import iconv from "iconv-lite";
import { charsetOf } from "./media.js";

export interface Decoded {
  /** Well-formed: without lone surrogates. */
  readonly text: string;
  /** The encoding that was used. */
  readonly charset: string;
}

/**
 * Means that no encoding is declared. A page has no use for declaring this one, because it is the
 * only encoding of HTML that does not decode anything.
 */
const unsaid = "replacement";

/**
 * Decodes a page in HTML's order: byte order mark, Content-Type, `<meta>`, then UTF-8 if the bytes
 * are valid, otherwise windows-1252. Never throws. Bytes that are invalid in the encoding become
 * U+FFFD.
 */
export function decodeText(body: Uint8Array, contentType: string): Decoded {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const charset = sniff(bytes, charsetOf(contentType)) ?? (isUtf8(bytes) ? "utf-8" : "windows-1252");
  return { text: wellFormed(decode(bytes, charset)), charset };
}

function sniff(bytes: Buffer, transportLayerEncodingLabel: string | undefined): string | undefined {
  const options = transportLayerEncodingLabel === undefined ? {} : { transportLayerEncodingLabel };
  const label = getEncoding(bytes.subarray(0, 1024), { defaultEncoding: unsaid, ...options }).toLowerCase();
  return label === unsaid || !isKnown(label) ? undefined : label;
}

function isKnown(label: string): boolean {
  return iconv.encodingExists(label) || nativeDecoder(label) !== undefined;
}

function decode(bytes: Buffer, charset: string): string {
  if (charset === "utf-8") return withoutMark(bytes.toString("utf8"));
  // Preferred over Node's own decoders, because which of those exist depends on the build of Node.
  if (iconv.encodingExists(charset)) return iconv.decode(bytes, charset);
  return nativeDecoder(charset)?.decode(bytes) ?? "";
}

function nativeDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Replaces every lone surrogate in `text` by U+FFFD. */
export function wellFormed(text: string): string {
  // Node 20 has this method, but the type library does not declare it yet.
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/**
 * Returns the first `length` UTF-16 code units of `text`, or one fewer if that would cut a
 * surrogate pair.
 */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}
