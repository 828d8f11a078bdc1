import { InvalidValueError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { asBuffer } from "../utf8.js";
import type { ValueVersions } from "./json-version.js";

/**
 * Encodes a column's values to bytes and decodes them. `V` is the type of values read. `I` is the
 * type of values written, which is wider if a schema fills in defaults. Made by `text`, `bytes`,
 * `int`, `float`, `boolean`, `date`, `bigint`, `oneOf`, `json`, `codec` and `compressed`. The bytes of
 * the built-in codecs are stable: later versions of the package read what earlier ones wrote.
 */
export interface Codec<V, I = V> {
  /**
   * The codec's name in the database's record of the column, such as `text`, `json`, `custom` or
   * `compressed(text)`.
   */
  readonly tag: string;
  /**
   * The bytes of a value: at most `limits.valueBytes`. They do not change if the program changes
   * `value` later.
   *
   * @throws InvalidValueError if the codec refuses the value.
   */
  encode(value: I): Uint8Array;
  /**
   * The value of bytes that {@link Codec.encode} made. The bytes are valid only during the call.
   *
   * @throws InvalidValueError if the bytes cannot be read.
   */
  decode(bytes: Uint8Array): V;
  /**
   * Like {@link Codec.decode}, for the bytes of `buffer` from `start` to `end`. Reads use this fast
   * path, because it needs no view of those bytes. Default: reads use `decode`.
   */
  readonly decodeRange?: ((buffer: Buffer, start: number, end: number) => V) | undefined;
  /**
   * Whether {@link decodeRange} runs only code of this package. If true, a scan may decode inside
   * the store's own memory. Default: false.
   */
  readonly decodesInPlace?: boolean | undefined;
  /**
   * Whether a schema of the program checks each value. The database records this fact, but not the
   * schema. Default: false.
   */
  readonly hasSchema?: boolean | undefined;
  /**
   * The versions of the values' shape. The database records the one that is written. Default: none,
   * which counts as version 1.
   */
  readonly versions?: ValueVersions | undefined;
}

/** The tags of codecs whose values can be parts of a key, because they have an order. */
export type KeyPartTag = "text" | "bytes" | "int" | "float" | "boolean";

/** A codec whose values can also be parts of a key: see `tuple`. */
export interface KeyPart<V> extends Codec<V> {
  readonly tag: KeyPartTag;
}

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
const brand = Symbol.for("percolatordb.codec");

type EncodeValue<V> = (value: V) => Uint8Array;
type DecodeRange<V> = (buffer: Buffer, start: number, end: number) => V;

interface CodecTraits {
  /** Whether `decodeRange` runs only code of this package. Default: true. */
  readonly decodesInPlace?: boolean | undefined;
  /** Default: false. */
  readonly hasSchema?: boolean | undefined;
  /** Default: none. */
  readonly versions?: ValueVersions | undefined;
}

class BuiltCodec<V, T extends string> implements Codec<V> {
  readonly [brand] = true;
  readonly tag: T;
  readonly encode: EncodeValue<V>;
  readonly decodeRange: DecodeRange<V>;
  readonly decodesInPlace: boolean;
  readonly hasSchema: boolean;
  readonly versions: ValueVersions | undefined;

  constructor(
    tag: T,
    encode: EncodeValue<V>,
    decodeRange: DecodeRange<V>,
    { decodesInPlace = true, hasSchema = false, versions }: CodecTraits,
  ) {
    this.tag = tag;
    this.encode = encode;
    this.decodeRange = decodeRange;
    this.decodesInPlace = decodesInPlace;
    this.hasSchema = hasSchema;
    this.versions = versions;
  }

  decode(bytes: Uint8Array): V {
    return this.decodeRange(asBuffer(bytes), 0, bytes.length);
  }
}

/** Builds a codec of this package from its tag and its two functions. */
export function buildCodec<V, T extends string>(
  tag: T,
  encode: EncodeValue<V>,
  decodeRange: DecodeRange<V>,
  traits: CodecTraits = {},
): Codec<V> & { readonly tag: T } {
  return Object.freeze(new BuiltCodec(tag, encode, decodeRange, traits));
}

/** Whether this is a codec of this package, or of another copy of it. */
export function isBuiltCodec(value: unknown): value is Codec<unknown> {
  return typeof value === "object" && value !== null && brand in value;
}

/** The error for a value of the wrong type. */
export function wrongTypeError(expected: string, value: unknown): InvalidValueError {
  return new InvalidValueError(`expected ${expected}, not ${describeValue(value)}`);
}

/** The error for stored bytes that cannot be read. */
export function unreadableError(expected: string, start: number, end: number): InvalidValueError {
  return new InvalidValueError(
    `the ${end - start} stored bytes are not ${expected}: another codec wrote the column, or it is damaged`,
  );
}

/** Throws an {@link InvalidValueError} if a value of this many bytes is too long. */
export function checkValueBytes(bytes: number): void {
  if (bytes > limits.valueBytes) {
    throw new InvalidValueError(
      `a value of ${bytes} bytes is too long: at most ${limits.valueBytes} bytes are allowed; divide it over several rows or columns`,
    );
  }
}
