import { type Codec, formatValue } from "../../schema/index.js";
import type { ValueShown } from "../api.js";

/** Values that are longer are not decoded where only their beginning is shown. */
const maxDecoded = 2 ** 20;

/** A value's bytes as text, of which at most so many characters. */
export function valueShown(codec: Codec<unknown> | undefined, bytes: Uint8Array, most: number): ValueShown {
  const size = bytes.length;
  if (size > maxDecoded && size > 4 * most) {
    const beginning = bytes.subarray(0, 4 * most);
    const isText = codec?.tag === "text" || codec?.tag === "json";
    const text = isText ? Buffer.from(beginning).toString("utf8") : formatValue("bytes", beginning);
    return { text: text.slice(0, most), bytes: size, isCut: true };
  }
  return { ...cutText(decoded(codec, bytes), most), bytes: size };
}

/** As much of a text as is shown. Never half of a character. */
export function cutText(text: string, most: number): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= most) return { text, isCut: false };
  const isHigh = /[\ud800-\udbff]/.test(text[most - 1]!);
  return { text: text.slice(0, isHigh ? most - 1 : most), isCut: true };
}

/** What cannot be decoded is shown as the bytes that it is. */
function decoded(codec: Codec<unknown> | undefined, bytes: Uint8Array): string {
  try {
    if (codec !== undefined) return formatValue(codec, codec.decode(bytes));
  } catch {
    // Below.
  }
  return formatValue("bytes", bytes);
}
