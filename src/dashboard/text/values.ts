import { type Codec, formatValue, isCompressedTag } from "../../schema/index.js";
import type { ValueShown } from "../api/index.js";

/** A value longer than this is not decoded if only its beginning is shown. */
const maxDecoded = 2 ** 20;

/** A value's bytes as text, cut after `max` characters. */
export function valueShown(codec: Codec<unknown> | undefined, bytes: Uint8Array, max: number): ValueShown {
  const size = bytes.length;
  // The beginning of a compressed value cannot be read alone.
  if (size > maxDecoded && size > 4 * max && !isCompressedTag(codec?.tag ?? "")) {
    const beginning = bytes.subarray(0, 4 * max);
    const isText = codec?.tag === "text" || codec?.tag === "json";
    const text = isText ? Buffer.from(beginning).toString("utf8") : formatValue("bytes", beginning);
    return { text: text.slice(0, max), bytes: size, isCut: true };
  }
  return { ...cutText(decoded(codec, bytes), max), bytes: size };
}

/** Cuts a text after `max` characters, and never through a surrogate pair. */
export function cutText(text: string, max: number): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= max) return { text, isCut: false };
  const isHigh = /[\ud800-\udbff]/.test(text[max - 1]!);
  return { text: text.slice(0, isHigh ? max - 1 : max), isCut: true };
}

/** Falls back to the bytes if they cannot be decoded. */
function decoded(codec: Codec<unknown> | undefined, bytes: Uint8Array): string {
  try {
    if (codec !== undefined) return formatValue(codec, codec.decode(bytes));
  } catch {
    // Shown as bytes.
  }
  return formatValue("bytes", bytes);
}
