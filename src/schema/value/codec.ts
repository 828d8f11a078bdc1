import { InvalidValueError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { asBuffer } from "../utf8.js";

/**
 * How a column's values become bytes and come back: `V` is what is read, `I` what may be written,
 * which is more where a schema fills in defaults. Made by `text`, `bytes`, `int`, `float`,
 * `boolean`, `json` and `codec`. The bytes of the built-in codecs are stable: what one version of
 * the package writes, later ones read.
 */
export interface Codec<V, I = V> {
  /**
   * Recorded in the database beside the column: `text`, `bytes`, `int`, `float`, `boolean`, `json`
   * or `custom`.
   */
  readonly tag: string;
  /**
   * The bytes of a value, at most `limits.valueBytes` of them. They are never changed afterwards,
   * whatever becomes of `value`.
   *
   * @throws InvalidValueError if the codec refuses the value.
   */
  encode(value: I): Uint8Array;
  /**
   * The value of bytes that {@link Codec.encode} made. The bytes are lent for the length of the
   * call.
   *
   * @throws InvalidValueError if they cannot be read.
   */
  decode(bytes: Uint8Array): V;
  /**
   * As {@link Codec.decode}, for the bytes of `buffer` from `start` to `end`: the fast path,
   * without a view of them.
   */
  readonly decodeRange?: ((buffer: Buffer, start: number, end: number) => V) | undefined;
  /**
   * Whether {@link decodeRange} runs no code but this package's, so that a scan may decode where a
   * store has the bytes.
   */
  readonly decodesInPlace?: boolean | undefined;
  /**
   * Whether a schema of the program's checks each value; the database records that there is one.
   * Default: false.
   */
  readonly hasSchema?: boolean | undefined;
}

/** The tags of codecs whose values can also be parts of a key: they have an order. */
export type KeyPartTag = "text" | "bytes" | "int" | "float" | "boolean";

/** A codec whose values can also be parts of a key, in `tuple`. */
export interface KeyPart<V> extends Codec<V> {
  readonly tag: KeyPartTag;
}

// Symbol.for, not instanceof: two copies of the package may meet in one program.
const brand = Symbol.for("percolatordb.codec");

type EncodeValue<V> = (value: V) => Uint8Array;
type DecodeRange<V> = (buffer: Buffer, start: number, end: number) => V;

interface CodecTraits {
  /** False if `decodeRange` runs the user's code. Default: true. */
  readonly decodesInPlace?: boolean | undefined;
  /** Default: false. */
  readonly hasSchema?: boolean | undefined;
}

class BuiltCodec<V, T extends string> implements Codec<V> {
  readonly [brand] = true;
  readonly tag: T;
  readonly encode: EncodeValue<V>;
  readonly decodeRange: DecodeRange<V>;
  readonly decodesInPlace: boolean;
  readonly hasSchema: boolean;

  constructor(
    tag: T,
    encode: EncodeValue<V>,
    decodeRange: DecodeRange<V>,
    { decodesInPlace = true, hasSchema = false }: CodecTraits,
  ) {
    this.tag = tag;
    this.encode = encode;
    this.decodeRange = decodeRange;
    this.decodesInPlace = decodesInPlace;
    this.hasSchema = hasSchema;
  }

  decode(bytes: Uint8Array): V {
    return this.decodeRange(asBuffer(bytes), 0, bytes.length);
  }
}

/** A codec of this package, from its tag and its two directions. */
export function buildCodec<V, T extends string>(
  tag: T,
  encode: EncodeValue<V>,
  decodeRange: DecodeRange<V>,
  traits: CodecTraits = {},
): Codec<V> & { readonly tag: T } {
  return Object.freeze(new BuiltCodec(tag, encode, decodeRange, traits));
}

/** Whether this is a codec that this package made (of whatever copy of it). */
export function isBuiltCodec(value: unknown): value is Codec<unknown> {
  return typeof value === "object" && value !== null && brand in value;
}

/** The error for a value of the wrong type. */
export function refuse(expected: string, value: unknown): InvalidValueError {
  return new InvalidValueError(`expected ${expected}, not ${describeValue(value)}`);
}

/** The error for stored bytes that cannot be read. */
export function unreadable(expected: string, start: number, end: number): InvalidValueError {
  return new InvalidValueError(
    `the ${end - start} stored bytes are not ${expected}; the column was written by another codec, or is damaged`,
  );
}

/** Throws an {@link InvalidValueError} if a value of so many bytes is too long. */
export function checkValueBytes(bytes: number): void {
  if (bytes > limits.valueBytes) {
    throw new InvalidValueError(
      `a value of ${bytes} bytes is too long: at most ${limits.valueBytes} bytes; divide it over several rows or columns`,
    );
  }
}
