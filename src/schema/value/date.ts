import { types } from "node:util";
import { buildCodec, type Codec, unreadableError, wrongTypeError } from "./codec.js";
import { intBytes, intLength, readInt, writeInt } from "./number.js";

const dateCodec = buildCodec<Date, "date">("date", encodeDate, (buffer, start, end) => {
  const length = end > start ? intLength(buffer[start]!) : 0;
  const milliseconds = length > 0 && length === end - start ? readInt(buffer, start, length) : undefined;
  const value = new Date(milliseconds ?? Number.NaN);
  if (Number.isNaN(value.getTime())) throw unreadableError("a date", start, end);
  return value;
});

/**
 * Points in time as `Date`, to the millisecond, stored in one to eight bytes. An invalid date is
 * refused. Each read returns a new `Date`. On command lines: ISO 8601, such as
 * `2026-11-22T19:20:00.000Z`.
 *
 * @example
 * const orders = table("orders", { placedAt: date() });
 */
export function date(): Codec<Date> {
  return dateCodec;
}

function encodeDate(value: Date): Buffer {
  if (!types.isDate(value) || Number.isNaN(value.getTime())) throw wrongTypeError("a valid Date", value);
  const out = Buffer.allocUnsafe(intBytes);
  return out.subarray(0, writeInt(value.getTime(), out, 0));
}
