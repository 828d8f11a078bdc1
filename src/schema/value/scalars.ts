import { InvalidValueError } from "../../errors/index.js";
import { limits } from "../limits.js";
import { isBytes } from "../transferred.js";
import { decodeUtf8, describeLoneSurrogate, isWellFormed } from "../utf8.js";
import { buildCodec, checkValueBytes, type KeyPart, unreadableError, wrongTypeError } from "./codec.js";
import { floatBytes, intBytes, intLength, readInt, writeInt } from "./number.js";

const textCodec = buildCodec<string, "text">("text", encodeText, (buffer, start, end) => {
  const value = decodeUtf8(buffer, start, end);
  if (value === undefined) throw unreadableError("UTF-8 text", start, end);
  return value;
});

const bytesCodec = buildCodec<Uint8Array, "bytes">("bytes", encodeBytes, (buffer, start, end) =>
  copyBytes(buffer.subarray(start, end)),
);

const intCodec = buildCodec<number, "int">("int", encodeInt, (buffer, start, end) => {
  const length = end > start ? intLength(buffer[start]!) : 0;
  const value = length === end - start ? readInt(buffer, start, length) : undefined;
  if (length === 0 || value === undefined) throw unreadableError("an int", start, end);
  return value;
});

const floatCodec = buildCodec<number, "float">("float", encodeFloat, (buffer, start, end) => {
  if (end - start !== floatBytes) throw unreadableError("a float", start, end);
  return buffer.readDoubleBE(start);
});

const booleanCodec = buildCodec<boolean, "boolean">("boolean", encodeBoolean, (buffer, start, end) => {
  const byte = buffer[start];
  if (end - start !== 1 || byte === undefined || byte > 1) throw unreadableError("a boolean", start, end);
  return byte === 1;
});

/**
 * Strings, stored as UTF-8. A string with a lone surrogate is refused, because UTF-8 cannot carry
 * it.
 */
export function text(): KeyPart<string> {
  return textCodec;
}

/**
 * Bytes, stored unchanged. A write copies the bytes that it is given, and each read returns a new
 * copy.
 */
export function bytes(): KeyPart<Uint8Array> {
  return bytesCodec;
}

/**
 * Safe integers (`Number.isSafeInteger`), stored in one to eight bytes. -0 becomes 0. Other numbers
 * are refused: use `float` for those.
 */
export function int(): KeyPart<number> {
  return intCodec;
}

/**
 * Any number, stored in eight bytes (IEEE 754, most significant byte first). NaN, the infinities
 * and -0 are kept.
 */
export function float(): KeyPart<number> {
  return floatCodec;
}

/** `true` and `false`, stored in one byte. */
export function boolean(): KeyPart<boolean> {
  return booleanCodec;
}

/** The UTF-8 of a string. */
export function encodeText(value: string): Buffer {
  if (typeof value !== "string") throw wrongTypeError("a string", value);
  if (!isWellFormed(value)) throw new InvalidValueError(`the string has ${describeLoneSurrogate(value)}`);
  // A UTF-16 unit takes at most three bytes, so only a long string must be measured before it is
  // copied.
  if (value.length * 3 > limits.valueBytes) checkValueBytes(Buffer.byteLength(value, "utf8"));
  return Buffer.from(value, "utf8");
}

function encodeBytes(value: Uint8Array): Uint8Array {
  if (!isBytes(value)) throw wrongTypeError("a Uint8Array", value);
  checkValueBytes(value.length);
  return copyBytes(value);
}

/** A copy with its own memory. `slice` of a Buffer would be a view. */
export function copyBytes(value: Uint8Array): Uint8Array {
  return new Uint8Array(value);
}

function encodeInt(value: number): Buffer {
  if (!Number.isSafeInteger(value)) {
    throw wrongTypeError(`a safe integer (use float() for other numbers, text() for larger ones)`, value);
  }
  const out = Buffer.allocUnsafe(intBytes);
  return out.subarray(0, writeInt(value, out, 0));
}

function encodeFloat(value: number): Buffer {
  if (typeof value !== "number") throw wrongTypeError("a number", value);
  const out = Buffer.allocUnsafe(floatBytes);
  out.writeDoubleBE(Number.isNaN(value) ? Number.NaN : value, 0);
  return out;
}

function encodeBoolean(value: boolean): Buffer {
  if (typeof value !== "boolean") throw wrongTypeError("a boolean", value);
  return Buffer.from([value ? 1 : 0]);
}
