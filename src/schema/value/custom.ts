import { InvalidValueError, SchemaError } from "../../errors/index.js";
import { isBytes } from "../transferred.js";
import { buildCodec, type Codec, checkValueBytes, isBuiltCodec, wrongTypeError } from "./codec.js";
import { copyBytes } from "./scalars.js";

/** The two functions of a custom codec. */
export interface CodecFunctions<V> {
  /**
   * The bytes of a value: at most `limits.valueBytes`. The codec copies them. Throw to refuse the
   * value.
   */
  encode(value: V): Uint8Array;
  /** The value of stored bytes. The function may keep the bytes. Throw if it cannot read them. */
  decode(bytes: Uint8Array): V;
}

/**
 * A custom codec. If one of its functions throws, the caller gets an `InvalidValueError` with that
 * error as its `cause`. The database records the column as `custom`: a command without the
 * program's module shows its values as bytes.
 *
 * @throws SchemaError if `encode` or `decode` is not a function.
 *
 * @example
 * const bigints = codec<bigint>({
 *   encode: (value) => Buffer.from(value.toString()),
 *   decode: (bytes) => BigInt(Buffer.from(bytes).toString()),
 * });
 */
export function codec<V>(functions: CodecFunctions<V>): Codec<V> {
  if (typeof functions?.encode !== "function" || typeof functions.decode !== "function") {
    throw new SchemaError("codec() takes an object with two functions, encode and decode");
  }
  const encode = (value: V) => {
    const encoded = attempt("refused the value", () => functions.encode(value));
    if (!isBytes(encoded)) throw wrongTypeError("a Uint8Array from the codec's encode", encoded);
    checkValueBytes(encoded.length);
    return copyBytes(encoded);
  };
  const decodeRange = (buffer: Buffer, start: number, end: number) =>
    attempt("cannot read the stored bytes", () => functions.decode(copyBytes(buffer.subarray(start, end))));
  return buildCodec("custom", encode, decodeRange, { decodesInPlace: false });
}

/**
 * Returns a codec of this package unchanged, and makes any other object with its shape a custom
 * codec.
 */
export function adoptCodec(candidate: Codec<unknown>): Codec<unknown> {
  return isBuiltCodec(candidate) ? candidate : codec(candidate);
}

function attempt<R>(what: string, run: () => R): R {
  try {
    return run();
  } catch (cause) {
    const reason = cause instanceof Error ? `: ${cause.message}` : "";
    throw new InvalidValueError(`the column's custom codec ${what}${reason}`, { cause });
  }
}
