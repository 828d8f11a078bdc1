import { ArrayBuilder } from "./array-builder.js";

/** `bytea[]`. `undefined` becomes a null. */
export function byteaArray(items: readonly (Uint8Array | undefined)[]): Buffer {
  const array = new ArrayBuilder("bytea");
  for (const item of items) array.bytes(item);
  return ArrayBuilder.join([array]);
}

/** `int4[]`. */
export function int4Array(items: readonly number[]): Buffer {
  const array = new ArrayBuilder("int4");
  for (const item of items) array.int4(item);
  return ArrayBuilder.join([array]);
}

/** `int8[]`. See {@link ArrayBuilder.int8}. */
export function int8Array(items: readonly number[]): Buffer {
  const array = new ArrayBuilder("int8");
  for (const item of items) array.int8(item);
  return ArrayBuilder.join([array]);
}

/** The largest `int8`: larger than every timestamp. Stands for Infinity. */
export const maxInt8 = "9223372036854775807";

/** A timestamp as a parameter of its own: rounded up, or the largest `int8`. */
export function int8Text(item: number): string {
  return item > Number.MAX_SAFE_INTEGER ? maxInt8 : String(Math.ceil(item));
}

/**
 * The bytes of a `bytea` of an answer. The server shows them as `\x` and hexadecimal digits, or with `\` escapes
 * if `bytea_output` of the role or of the connection is `escape`. Those never begin with `\x`.
 */
export function bytesOf(text: string): Buffer {
  return text.startsWith("\\x") ? Buffer.from(text.slice(2), "hex") : unescaped(text);
}

function unescaped(text: string): Buffer {
  const plain = text.replace(/\\(\\|[0-7]{3})/g, (_, escaped: string) =>
    escaped === "\\" ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
  );
  return Buffer.from(plain, "latin1");
}
