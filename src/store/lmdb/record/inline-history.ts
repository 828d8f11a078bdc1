import { readTimestamp, writeTimestamp } from "../../bytes.js";
import type { Version } from "../../cell.js";
import { damagedStore } from "./errors.js";

/**
 * The older write records in a cell's entry, newest first. Each has its timestamp, the length of
 * its bytes, and the bytes. All are newer than those in `versions`.
 */
export type InlineHistory = Buffer;

export const noInlineHistory: InlineHistory = Buffer.alloc(0);

/** Size of a record's head: its timestamp and length. */
export const headBytes = 10;

/** How many bytes a write record of `length` bytes takes in an {@link InlineHistory}. */
export function inlineLength(length: number): number {
  return headBytes + length;
}

/**
 * Adds a write record at the beginning of `inline`. The record must be newer than all others there.
 */
export function withNewer(inline: InlineHistory, timestamp: number, value: Uint8Array): InlineHistory {
  const result = Buffer.allocUnsafe(headBytes + value.length + inline.length);
  writeTimestamp(result, 0, timestamp);
  result.writeUInt16BE(value.length, 8);
  result.set(value, headBytes);
  result.set(inline, headBytes + value.length);
  return result;
}

/**
 * The position of the newest record at or below `at`, from `start` on in `bytes`. -1 if there is
 * none.
 */
export function placeBelow(bytes: Uint8Array, start: number, end: number, at: number): number {
  for (let place = start; place < end; place = nextPlace(bytes, place, end)) {
    if (place + headBytes > end) throw damagedStore("a cell's entry whose older records are cut off");
    if (readTimestamp(bytes, place) <= at) return place;
  }
  return -1;
}

/** The record at a position. Its bytes are a view of `bytes`. */
export function recordAt(bytes: Uint8Array, place: number, end: number): Version {
  const value = bytes.subarray(place + headBytes, nextPlace(bytes, place, end));
  return { timestamp: readTimestamp(bytes, place), value };
}

/** All records at or below `at`, newest first. Their bytes are views. */
export function* recordsBelow(inline: InlineHistory, at: number): Iterable<Version> {
  const end = inline.length;
  const first = placeBelow(inline, 0, end, at);
  for (let place = first; place >= 0 && place < end; place = nextPlace(inline, place, end)) {
    yield recordAt(inline, place, end);
  }
}

/** The records without those with `from <= timestamp < to`. */
export function withoutInterval(inline: InlineHistory, from: number, to: number): InlineHistory {
  let left = noInlineHistory;
  for (const { timestamp, value } of [...recordsBelow(inline, Number.MAX_SAFE_INTEGER)].reverse()) {
    if (timestamp < from || timestamp >= to) left = withNewer(left, timestamp, value);
  }
  return left.length === inline.length ? inline : left;
}

/** The position of the record after the one at `place`. */
export function nextPlace(bytes: Uint8Array, place: number, end: number): number {
  const next = place + headBytes + ((bytes[place + 8]! << 8) | bytes[place + 9]!);
  if (next > end) throw damagedStore("a cell's entry whose older records are cut off");
  return next;
}
