import { types } from "node:util";
import { InvalidValueError, SchemaError } from "../../errors/index.js";
import { buildCodec, type Codec, checkValueBytes, isBuiltCodec, refuse } from "./codec.js";
import { copyBytes } from "./scalars.js";

/** The two directions of a codec of one's own. */
export interface CodecFunctions<V> {
  /**
   * The bytes of a value, at most `limits.valueBytes`; they are copied. Throws for a value that it
   * refuses.
   */
  encode(value: V): Uint8Array;
  /** The value of such bytes; they are the function's own. Throws for bytes that it cannot read. */
  decode(bytes: Uint8Array): V;
}

/**
 * A codec of one's own. What its functions throw arrives as the `cause` of an `InvalidValueError`.
 * The database records it as `custom`: commands that are not given the module that declares it show
 * its values as bytes.
 *
 * @example const bigints = codec<bigint>({ encode: (value) => Buffer.from(value.toString()),
 * decode: (bytes) => BigInt(Buffer.from(bytes).toString()), });
 */
export function codec<V>(functions: CodecFunctions<V>): Codec<V> {
  if (typeof functions?.encode !== "function" || typeof functions.decode !== "function") {
    throw new SchemaError("codec() takes an object with two functions, encode and decode");
  }
  const encode = (value: V) => {
    const encoded = attempt("refused the value", () => functions.encode(value));
    if (!types.isUint8Array(encoded)) throw refuse("a Uint8Array from the codec's encode", encoded);
    checkValueBytes(encoded.length);
    return copyBytes(encoded);
  };
  const decodeRange = (buffer: Buffer, start: number, end: number) =>
    attempt("cannot read the stored bytes", () => functions.decode(copyBytes(buffer.subarray(start, end))));
  return buildCodec("custom", encode, decodeRange, { decodesInPlace: false });
}

/**
 * The codec itself where this package made it; an object shaped like one becomes a custom codec.
 */
export function adoptCodec(candidate: Codec<unknown>): Codec<unknown> {
  return isBuiltCodec(candidate) ? candidate : codec(candidate);
}

function attempt<R>(what: string, run: () => R): R {
  try {
    return run();
  } catch (cause) {
    const reason = cause instanceof Error ? `: ${cause.message}` : "";
    throw new InvalidValueError(`the column's own codec ${what}${reason}`, { cause });
  }
}
