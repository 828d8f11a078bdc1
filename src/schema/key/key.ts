import { InvalidKeyError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { asBuffer, decodeUtf8, describeLoneSurrogate, isWellFormed } from "../utf8.js";

/**
 * Encodes a table's row keys to bytes that sort as the keys do, and decodes them. The default is
 * strings. For composite keys, see `tuple`.
 */
export interface KeyCodec<K> {
  /**
   * The codec's name in the database's record of the table: `text`, or for example
   * `tuple(text,int)`.
   */
  readonly tag: string;
  /**
   * The bytes of a key: at most `limits.keyBytes`, with each NUL byte counted twice.
   *
   * @throws InvalidKeyError if this is not a valid key.
   */
  encode(key: K): Uint8Array;
  /**
   * Like {@link KeyCodec.encode}, but writes to the beginning of `target`, which has room for any
   * key. Returns how many bytes it wrote. If it returns less than 0 or throws, the caller must use
   * `encode`. Reads use this fast path, since they need no copy.
   */
  encodeInto?(key: K, target: Buffer): number;
  /**
   * Decodes the bytes that {@link KeyCodec.encode} returned. The bytes are valid only during the
   * call.
   *
   * @throws InvalidKeyError if the bytes are not a key.
   */
  decode(bytes: Uint8Array): K;
  /** Like {@link KeyCodec.decode}, for the bytes of `buffer` from `start` to `end`. */
  decodeRange(buffer: Buffer, start: number, end: number): K;
  /**
   * The leading bytes that all keys with the prefix `partial` share. `partial` is the start of a
   * string, or the first parts of a tuple, each complete. {@link KeyPrefix} is its type.
   *
   * @throws InvalidKeyError if no key can begin with `partial`.
   */
  prefix(partial: unknown): Uint8Array;
  /**
   * The key as text, for people and command lines: a string unchanged, a tuple as a JSON array (see
   * `tuple`).
   */
  format(key: K): string;
  /**
   * Parses a text that {@link KeyCodec.format} returned.
   *
   * @throws InvalidKeyError if the text is not a key.
   */
  parse(text: string): K;
}

/**
 * The type of a scan's prefix. For strings, the start of a string. For tuples, the leading parts.
 * For a tuple of one string, also the start of that string.
 */
export type KeyPrefix<K> = unknown extends K
  ? unknown
  : K extends readonly [string]
    ? LeadingParts<K> | string
    : K extends readonly unknown[]
      ? LeadingParts<K>
      : string;

type LeadingParts<K extends readonly unknown[]> = K extends readonly [...infer Leading, unknown]
  ? Readonly<K> | LeadingParts<Leading>
  : readonly [];

/** A key of at most this many bytes is within the limit, even if all of them are NUL. */
export const shortKeyBytes = limits.keyBytes / 2;

const brand = Symbol.for("percolatordb.key");

/** Whether this is a key codec of this package, or of another copy of it. */
export function isKeyCodec(value: unknown): value is KeyCodec<unknown> {
  return typeof value === "object" && value !== null && brand in value;
}

/** Builds a key codec of this package from its functions. */
export function buildKeyCodec<K>(tag: string, functions: Omit<KeyCodec<K>, "tag" | "decode">): KeyCodec<K> {
  const { encode, encodeInto, decodeRange, prefix, format, parse } = functions;
  return Object.freeze({
    [brand]: true,
    tag,
    encode,
    ...(encodeInto === undefined ? {} : { encodeInto }),
    decode: (bytes: Uint8Array) => decodeRange(asBuffer(bytes), 0, bytes.length),
    decodeRange,
    prefix,
    format,
    parse,
  });
}

/** String keys, ordered by their UTF-8 bytes: the default. */
export const textKey: KeyCodec<string> = buildKeyCodec<string>("text", {
  encode: encodeTextKey,
  encodeInto: writeTextKey,
  decodeRange: decodeTextKey,
  prefix: (partial) => encodeTextKey(partial),
  format: (key) => key,
  parse(text) {
    encodeTextKey(text);
    return text;
  },
});

/** The UTF-8 of a row key or qualifier. Throws an {@link InvalidKeyError} if it is not valid. */
export function encodeTextKey(key: unknown): Buffer {
  if (typeof key !== "string")
    throw new InvalidKeyError(`the key must be a string, not ${describeValue(key)}`);
  if (!isWellFormed(key)) {
    throw new InvalidKeyError(`${describeValue(key)} has ${describeLoneSurrogate(key)}`);
  }
  if (key.length > limits.keyBytes) throw tooLong(Buffer.byteLength(key, "utf8"));
  const encoded = Buffer.from(key, "utf8");
  checkKeyBytes(encoded);
  return encoded;
}

/**
 * Returns -1 for an invalid key, and for a key that may be too long. The caller must pass such a
 * key to {@link encodeTextKey}, which checks it exactly.
 */
function writeTextKey(key: unknown, target: Buffer): number {
  if (typeof key !== "string" || key.length > shortKeyBytes || !isWellFormed(key)) return -1;
  const length = target.write(key, 0, "utf8");
  return length <= shortKeyBytes ? length : -1;
}

function decodeTextKey(buffer: Buffer, start: number, end: number): string {
  const key = decodeUtf8(buffer, start, end);
  if (key === undefined) throw new InvalidKeyError(`the ${end - start} stored bytes are not a string key`);
  return key;
}

/** The number of bytes that count against `limits.keyBytes`: each NUL byte counts twice. */
export function keyCost(bytes: Uint8Array): number {
  let cost = bytes.length;
  for (let i = bytes.indexOf(0); i >= 0; i = bytes.indexOf(0, i + 1)) cost++;
  return cost;
}

/** Throws an {@link InvalidKeyError} if encoded bytes exceed the limit. */
export function checkKeyBytes(encoded: Uint8Array): void {
  if (encoded.length * 2 > limits.keyBytes && keyCost(encoded) > limits.keyBytes) {
    throw tooLong(keyCost(encoded));
  }
}

/** The error for a key that takes this many bytes. */
export function tooLong(bytes: number): InvalidKeyError {
  return new InvalidKeyError(
    `the key takes ${bytes} encoded bytes, but at most ${limits.keyBytes} are allowed (NUL bytes counted twice); use a hash of the long part`,
  );
}

/** The leading bytes that all keys with the prefix `partial` share. See {@link KeyCodec.prefix}. */
export function keyPrefix<K>(key: KeyCodec<K>, partial: KeyPrefix<NoInfer<K>>): Uint8Array {
  return key.prefix(partial);
}

/**
 * The smallest byte string that sorts after all strings that begin with `bytes`. Undefined if there
 * is none: `bytes` is empty or all 0xff.
 */
export function prefixEnd(bytes: Uint8Array): Uint8Array | undefined {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0xff) length--;
  if (length === 0) return undefined;
  const end = Uint8Array.prototype.slice.call(bytes, 0, length);
  end[length - 1]! += 1;
  return end;
}
