import type { TimestampRange } from "../protos/codec.js";
import type { Int64 } from "../protos/int64.js";

/** Bigtable counts microseconds, in steps of so many. */
const scale = 1_000;
const two32 = 0x1_0000_0000;

/** A timestamp as Bigtable takes it: exact for every safe integer. */
export function encodeTimestamp(timestamp: number): Int64 {
  const low = (timestamp % two32) * scale;
  return { low: low >>> 0, high: Math.floor(timestamp / two32) * scale + Math.floor(low / two32) };
}

/** The timestamp, from what Bigtable answers. */
export function decodeTimestamp({ low, high }: Int64): number {
  return Math.floor(high / scale) * two32 + Math.floor(((high % scale) * two32 + low) / scale);
}

/** Timestamps from `from` to before `to`: undefined where that is all of them, `"none"` where it is none. */
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
