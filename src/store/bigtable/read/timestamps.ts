import type { TimestampRange } from "../protos/codec.js";
import type { Int64 } from "../protos/int64.js";

/** Bigtable's timestamps are microseconds, in steps of this many. */
const scale = 1_000;
const two32 = 0x1_0000_0000;

/** A timestamp for Bigtable. Exact for every safe integer. */
export function encodeTimestamp(timestamp: number): Int64 {
  const low = (timestamp % two32) * scale;
  return { low: low >>> 0, high: Math.floor(timestamp / two32) * scale + Math.floor(low / two32) };
}

/** The timestamp in an answer of Bigtable. */
export function decodeTimestamp({ low, high }: Int64): number {
  return Math.floor(high / scale) * two32 + Math.floor(((high % scale) * two32 + low) / scale);
}

/**
 * A range of timestamps from `from` to before `to`. Undefined if the range contains all timestamps,
 * `"none"` if it is empty.
 */
export function timestampRange(from: number, to: number): TimestampRange | undefined | "none" {
  const start = Math.ceil(from);
  const end = Math.ceil(to);
  if (start >= end || start > Number.MAX_SAFE_INTEGER) return "none";
  const open = end > Number.MAX_SAFE_INTEGER;
  if (start === 0 && open) return undefined;
  return {
    startTimestampMicros: start === 0 ? undefined : encodeTimestamp(start),
    endTimestampMicros: open ? undefined : encodeTimestamp(end),
  };
}
