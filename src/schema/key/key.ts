import { InvalidKeyError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { asBuffer, decodeUtf8, describeLoneSurrogate, isWellFormed } from "../utf8.js";

/**
 * How a table's row keys become bytes that sort as the keys do, and come back. Strings unless the
 * table says otherwise; see `tuple`.
 */
export interface KeyCodec<K> {
  /** Recorded in the database beside the table: `text`, or such as `tuple(text,int)`. */
  readonly tag: string;
  /**
   * The bytes of a key, at most `limits.keyBytes`, each NUL byte counted twice.
   *
   * @throws InvalidKeyError if this is not a key.
   */
  encode(key: K): Uint8Array;
  /**
   * As {@link KeyCodec.encode}, to the beginning of `target`, which has room for any key: how many
   * bytes they are. Less than 0, or an error, where only `encode` can tell. The fast path of reads,
   * which need no bytes of their own.
   */
  encodeInto?(key: K, target: Buffer): number;
  /**
   * The key of bytes that {@link KeyCodec.encode} made. They are lent for the length of the call.
   *
   * @throws InvalidKeyError if they cannot be read.
   */
  decode(bytes: Uint8Array): K;
  /** As {@link KeyCodec.decode}, for the bytes of `buffer` from `start` to `end`. */
  decodeRange(buffer: Buffer, start: number, end: number): K;
  /**
   * The bytes with which all keys begin that begin with `partial`: the start of a string, or the
   * first parts of a tuple, each of them whole. Typed by {@link KeyPrefix}.
   *
   * @throws InvalidKeyError if no key can begin so.
   */
  prefix(partial: unknown): Uint8Array;
  /**
   * The key as text for people and command lines: a string as it is, a tuple as a JSON array (see
   * `tuple`).
   */
  format(key: K): string;
  /**
   * The key of such a text.
   *
   * @throws InvalidKeyError if the text is not a key's.
   */
  parse(text: string): K;
}

/**
 * What a scan may be narrowed to: for strings the start of one, for tuples the leading parts. For a
 * tuple of one string also the start of that string.
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

/** Keys of so many bytes are within the limit, however many of them are NUL. */
export const shortKeyBytes = limits.keyBytes / 2;

const brand = Symbol.for("percolatordb.key");

/** Whether this is a key codec that this package made (of whatever copy of it). */
export function isKeyCodec(value: unknown): value is KeyCodec<unknown> {
  return typeof value === "object" && value !== null && brand in value;
}

/** A key codec of this package, from what it does. */
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

/** UTF-8 of a row key or qualifier; refuses what cannot be one. */
export function encodeTextKey(key: unknown): Buffer {
  if (typeof key !== "string") throw new InvalidKeyError(`a string is needed, not ${describeValue(key)}`);
  if (!isWellFormed(key)) {
    throw new InvalidKeyError(`${describeValue(key)} has ${describeLoneSurrogate(key)}`);
  }
  if (key.length > limits.keyBytes) throw tooLong(Buffer.byteLength(key, "utf8"));
  const encoded = Buffer.from(key, "utf8");
  checkKeyBytes(encoded);
  return encoded;
}

/** What is no key, or may be too long, is left to {@link encodeTextKey}. */
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

/** What encoded bytes count against `limits.keyBytes`: each NUL byte twice. */
export function keyCost(bytes: Uint8Array): number {
  let cost = bytes.length;
  for (let i = bytes.indexOf(0); i >= 0; i = bytes.indexOf(0, i + 1)) cost++;
  return cost;
}

/** Throws an {@link InvalidKeyError} if encoded bytes are over the limit. */
export function checkKeyBytes(encoded: Uint8Array): void {
  if (encoded.length * 2 > limits.keyBytes && keyCost(encoded) > limits.keyBytes) {
    throw tooLong(keyCost(encoded));
  }
}

/** The error for a key of so many bytes. */
export function tooLong(bytes: number): InvalidKeyError {
  return new InvalidKeyError(
    `${bytes} encoded bytes are too many: at most ${limits.keyBytes}, NUL bytes counted twice; use a hash of what is long`,
  );
}

/** The bytes with which all keys begin that begin with `partial`; see {@link KeyCodec.prefix}. */
export function keyPrefix<K>(key: KeyCodec<K>, partial: KeyPrefix<NoInfer<K>>): Uint8Array {
  return key.prefix(partial);
}

/**
 * The first byte string after all that begin with `bytes`; `undefined` where there is none: all are
 * 0xff, or none.
 */
export function prefixEnd(bytes: Uint8Array): Uint8Array | undefined {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0xff) length--;
  if (length === 0) return undefined;
  const end = Uint8Array.prototype.slice.call(bytes, 0, length);
  end[length - 1]! += 1;
  return end;
}
