import type protobuf from "protobufjs/minimal.js";

/** A 64-bit integer as two unsigned halves, because a JavaScript number cannot hold it. */
export interface Int64 {
  readonly low: number;
  readonly high: number;
}

const two32 = 0x1_0000_0000;

/** Splits an integer from 0 to 2^53. */
export function int64(value: number): Int64 {
  return { low: value >>> 0, high: Math.floor(value / two32) };
}

/** The integer as a number. Exact up to 2^53. */
export function fromInt64({ low, high }: Int64): number {
  return high * two32 + low;
}

/**
 * Gives an {@link Int64} the type that protobufjs's writer takes: `Long`, a class of another
 * package. The writer uses only the two fields that both types have.
 */
export function bits(value: Int64): protobuf.Long {
  return value as unknown as protobuf.Long;
}

/** Reads a variable-length integer of at most 64 bits. */
export function readInt64(reader: protobuf.Reader): Int64 {
  const { buf } = reader;
  let { pos } = reader;
  let low = 0;
  let high = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    if (pos >= reader.len) break;
    const byte = buf[pos++]!;
    const part = byte & 0x7f;
    if (shift < 28) low |= part << shift;
    else if (shift === 28) {
      low |= part << 28;
      high = part >>> 4;
    } else if (shift < 63) high |= part << (shift - 32);
    else high |= part << 31;
    if (byte < 0x80) {
      reader.pos = pos;
      return { low: low >>> 0, high: high >>> 0 };
    }
  }
  throw new RangeError("A 64-bit integer has no end.");
}
