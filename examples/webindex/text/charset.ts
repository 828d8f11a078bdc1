import { isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import { getEncoding } from "encoding-sniffer";
import iconv from "iconv-lite";
import { charsetOf } from "./media.js";

export interface Decoded {
  /** Well-formed: no half of a surrogate pair. */
  readonly text: string;
  /** The encoding that was taken. */
  readonly charset: string;
}

/** Stands for "nothing said": of all encodings that HTML knows the one that is no encoding. */
const unsaid = "replacement";

/**
 * The text of a page, by HTML's order: byte order mark, Content-Type, `<meta>`, else UTF-8 if that
 * fits and windows-1252 if not. Never throws: bytes that the encoding does not have become U+FFFD.
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
  // Before Node's own decoders, of which there are as many as it was built with.
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

/** `text` with every lone half of a surrogate pair replaced by U+FFFD. */
export function wellFormed(text: string): string {
  // Node 20 has it; the library of types does not yet.
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/** The first `length` UTF-16 units of `text`, one less if that would cut a pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}
