/**
 * A block: for pages of one shard, three counts each. What the pages that have a term, and the
 * lengths of a shard, are stored as: ordered by id, the eight bytes of the id and the counts as
 * variable-length integers.
 */
import type { Counts } from "./terms.js";

const idBytes = 8;

/** A block as it is worked with. By id. */
export type Block = Map<string, Counts>;

/** The bytes of a block; `undefined` for one without pages, which is not stored. */
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

/** What {@link encodeBlock} made bytes of; an empty block if there are none. */
export function decodeBlock(stored: Uint8Array | undefined): Block {
  const block: Block = new Map();
  if (stored !== undefined) readBlock(stored, (id, ...counts) => block.set(id, counts));
  return block;
}

/** Goes through a block in the order of the ids, without building anything. */
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

/** A place in bytes that are being read. */
export interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Reads an integer of variable length: seven bits a byte, the lowest first. */
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

/** Writes what {@link readCount} reads, at most five bytes; answers where it ends. */
export function writeCount(bytes: Buffer, start: number, count: number): number {
  let at = start;
  let rest = count;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at++] = rest;
  return at;
}
