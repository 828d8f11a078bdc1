import { buildCodec, type Codec, checkValueBytes, unreadableError, wrongTypeError } from "./codec.js";

const bigintCodec = buildCodec<bigint, "bigint">("bigint", encodeBigint, decodeBigint);

/**
 * Integers of any size, stored in the fewest bytes (two's complement, most significant byte first).
 * A `number` is refused: use `int()` for those. On command lines: decimal digits.
 *
 * @throws InvalidValueError from writes if the value is not a bigint.
 *
 * @example
 * const accounts = table("accounts", { wei: bigint() });
 */
export function bigint(): Codec<bigint> {
  return bigintCodec;
}

function encodeBigint(value: bigint): Buffer {
  if (typeof value !== "bigint") throw wrongTypeError("a bigint (use int() for numbers)", value);
  // In two's complement, the bits of a negative value are the inverted bits of its complement
  // `~value`.
  const isNegative = value < 0n;
  const magnitude = (isNegative ? ~value : value).toString(16);
  const hex = magnitude.length % 2 === 0 ? magnitude : `0${magnitude}`;
  const bytes = Buffer.from(hex, "hex");
  // The first bit is the sign, so a leading 1 bit of the magnitude needs a zero byte before it.
  const signed = bytes[0]! < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes]);
  checkValueBytes(signed.length);
  if (isNegative) invert(signed);
  return signed;
}

function decodeBigint(buffer: Buffer, start: number, end: number): bigint {
  const bytes = Buffer.from(buffer.subarray(start, end));
  const isNegative = (bytes[0] ?? 0) >= 0x80;
  if (isNegative) invert(bytes);
  const isShortest = bytes.length === 1 || (bytes.length > 1 && (bytes[0] !== 0 || bytes[1]! >= 0x80));
  if (!isShortest) throw unreadableError("a bigint", start, end);
  const magnitude = BigInt(`0x${bytes.toString("hex")}`);
  return isNegative ? ~magnitude : magnitude;
}

function invert(bytes: Buffer): void {
  for (let i = 0; i < bytes.length; i++) bytes[i] = ~bytes[i]! & 0xff;
}
