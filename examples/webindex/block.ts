/**
 * A block is a list of pages of one shard, in the order of their ids, with three counts for each
 * page: of its text, its title and its anchors. The block of a term lists the pages that have the
 * term, and counts the term. The block of a shard lists all its pages, and counts all their terms.
 * Each entry is the id's eight bytes and the counts as variable-length integers.
 */
import type { Counts } from "./terms.js";

const idBytes = 8;

/** A decoded block: counts by page id. */
export type Block = Map<string, Counts>;

/** Encodes a block. Returns `undefined` for an empty block, which is not stored. */
export function encodeBlock(block: Block): Uint8Array | undefined {
  if (block.size === 0) return undefined;
  const ids = [...block.keys()].sort();
  const bytes = Buffer.allocUnsafe(block.size * (idBytes + 3 * 5));
  let at = 0;
  for (const id of ids) {
    at += bytes.write(id, at, "base64url");
    for (const count of block.get(id)!) at = writeCount(bytes, at, count);
  }
  return bytes.subarray(0, at);
}

/** Decodes what {@link encodeBlock} returned. If nothing is stored, returns an empty block. */
export function decodeBlock(stored: Uint8Array | undefined): Block {
  const block: Block = new Map();
  if (stored !== undefined) readBlock(stored, (id, ...counts) => block.set(id, counts));
  return block;
}

/** Visits the entries of a block in id order, without building a map. */
export function readBlock(
  stored: Uint8Array,
  visit: (id: string, text: number, title: number, anchors: number) => void,
): void {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const cursor: Cursor = { bytes, at: 0 };
  while (cursor.at < bytes.length) {
    const id = bytes.toString("base64url", cursor.at, cursor.at + idBytes);
    cursor.at += idBytes;
    visit(id, readCount(cursor), readCount(cursor), readCount(cursor));
  }
}

/** A read position in a byte buffer. */
export interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Reads a variable-length integer: seven bits in each byte, the lowest first. */
export function readCount(cursor: Cursor): number {
  const { bytes } = cursor;
  let byte = bytes[cursor.at++]!;
  if (byte < 0x80) return byte;
  let count = byte & 0x7f;
  for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
    byte = bytes[cursor.at++]!;
    count += (byte & 0x7f) * scale;
  }
  return count;
}

/**
 * Writes an integer for {@link readCount}, in at most five bytes. Returns the position after it.
 */
export function writeCount(bytes: Buffer, start: number, count: number): number {
  let at = start;
  let rest = count;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at++] = rest;
  return at;
}
