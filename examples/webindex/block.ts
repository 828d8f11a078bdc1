/**
 * A block is a list of pages of one shard, in the order of their ids, with three counts for each
 * page: of its text, its title and its anchors. The block of a term lists the pages that have the
 * term, and counts the term. The block of a shard lists all its pages, and counts all their terms.
 *
 * Each entry is the id's eight bytes, and the counts as variable-length integers. The first integer
 * is four times the count of the text, plus 2 if a count of the title follows, plus 1 if a count of
 * the anchors follows. Most terms are only in the text, and take nine bytes for each page.
 */
import type { Counts } from "./terms.js";

export const idBytes = 8;
const mostEntryBytes = idBytes + 3 * 6;

/** A decoded block: counts by page id. */
export type Block = Map<string, Counts>;

/** New counts of a page. `undefined` removes the page. */
export interface BlockChange {
  /** The bytes of the page's id. */
  readonly id: Uint8Array;
  readonly counts: Counts | undefined;
}

/** Encodes a block. Returns `undefined` for an empty block, which is not stored. */
export function encodeBlock(block: Block): Uint8Array | undefined {
  const changes = [...block].map(([id, counts]) => ({ id: Buffer.from(id, "base64url"), counts }));
  return updateBlock(undefined, changes.sort(inOrder));
}

/** The order of the entries in a block. */
export function inOrder(one: { readonly id: Uint8Array }, other: { readonly id: Uint8Array }): number {
  return Buffer.compare(one.id, other.id);
}

/**
 * Applies changes, which are in the order of the ids, to a stored block. Copies the entries between
 * them as they are. Returns `undefined` for an empty block, which is not stored.
 */
export function updateBlock(
  stored: Uint8Array | undefined,
  changes: readonly BlockChange[],
): Uint8Array | undefined {
  const before = stored === undefined ? Buffer.alloc(0) : bufferOf(stored);
  const bytes = Buffer.allocUnsafe(before.length + changes.length * mostEntryBytes);
  const cursor: Cursor = { bytes: before, at: 0 };
  let at = 0;
  for (const { id, counts } of changes) {
    const start = cursor.at;
    let order = -1;
    while (cursor.at < before.length) {
      order = before.compare(id, 0, idBytes, cursor.at, cursor.at + idBytes);
      if (order >= 0) break;
      skipEntry(cursor);
    }
    at += before.copy(bytes, at, start, cursor.at);
    if (order === 0 && cursor.at < before.length) skipEntry(cursor);
    if (counts === undefined) continue;
    bytes.set(id, at);
    at = writeCounts(bytes, at + idBytes, counts);
  }
  at += before.copy(bytes, at, cursor.at);
  return at === 0 ? undefined : bytes.subarray(0, at);
}

/** Decodes a stored block. If nothing is stored, returns an empty block. */
export function decodeBlock(stored: Uint8Array | undefined): Block {
  const block: Block = new Map();
  if (stored === undefined) return block;
  const bytes = bufferOf(stored);
  const cursor: Cursor = { bytes, at: 0 };
  const counts = new Uint32Array(3);
  while (cursor.at < bytes.length) {
    const id = bytes.toString("base64url", cursor.at, cursor.at + idBytes);
    cursor.at += idBytes;
    readCounts(cursor, counts, 0);
    block.set(id, [counts[0]!, counts[1]!, counts[2]!]);
  }
  return block;
}

/** A read position in a byte buffer. */
export interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Reads the counts of an entry, after its id, into three elements of `counts`. */
export function readCounts(cursor: Cursor, counts: Uint32Array, from: number): void {
  const first = readCount(cursor);
  counts[from] = Math.floor(first / 4);
  const fields = first % 4;
  counts[from + 1] = fields >= 2 ? readCount(cursor) : 0;
  counts[from + 2] = fields % 2 === 1 ? readCount(cursor) : 0;
}

function writeCounts(bytes: Buffer, start: number, [text, title, anchors]: Counts): number {
  let at = writeCount(bytes, start, text * 4 + (title > 0 ? 2 : 0) + (anchors > 0 ? 1 : 0));
  if (title > 0) at = writeCount(bytes, at, title);
  if (anchors > 0) at = writeCount(bytes, at, anchors);
  return at;
}

function skipEntry(cursor: Cursor): void {
  const { bytes } = cursor;
  let at = cursor.at + idBytes;
  const fields = bytes[at]! & 3;
  for (let counts = 1 + (fields >>> 1) + (fields & 1); counts > 0; at++) if (bytes[at]! < 0x80) counts--;
  cursor.at = at;
}

function bufferOf(stored: Uint8Array): Buffer {
  return Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
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
 * Writes an integer for {@link readCount}, in at most six bytes. Returns the position after it.
 */
export function writeCount(bytes: Buffer, start: number, count: number): number {
  let at = start;
  let rest = count;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at++] = rest;
  return at;
}
