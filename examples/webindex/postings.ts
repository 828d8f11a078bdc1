/**
 * A cell of the postings: the pages of one shard, for one bucket of terms. It contains the terms in
 * order. For each term it has the length of the term, the term, the length of its block, and its
 * block.
 */
import { type Cursor, readCount, writeCount } from "./block.js";

/** A decoded cell: blocks by term. */
export type PostingCell = Map<string, Uint8Array>;

const longestCount = 5;

/** Encodes a cell. Returns `undefined` for an empty cell, which is not stored. */
export function encodePostings(cell: PostingCell): Uint8Array | undefined {
  if (cell.size === 0) return undefined;
  const terms = [...cell.keys()].sort();
  let most = 0;
  for (const [term, block] of cell) most += 2 * longestCount + term.length * 3 + block.length;
  const bytes = Buffer.allocUnsafe(most);
  let at = 0;
  for (const term of terms) {
    const block = cell.get(term)!;
    at = writeCount(bytes, at, Buffer.byteLength(term));
    at += bytes.write(term, at);
    at = writeCount(bytes, at, block.length);
    bytes.set(block, at);
    at += block.length;
  }
  return bytes.subarray(0, at);
}

/**
 * Decodes what {@link encodePostings} returned. If nothing is stored, returns an empty cell. The
 * blocks are views of the given bytes.
 */
export function decodePostings(stored: Uint8Array | undefined): PostingCell {
  const cell: PostingCell = new Map();
  if (stored === undefined) return cell;
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const cursor: Cursor = { bytes, at: 0 };
  while (cursor.at < bytes.length) {
    const termBytes = readCount(cursor);
    const term = bytes.toString("utf8", cursor.at, cursor.at + termBytes);
    cursor.at += termBytes;
    const blockBytes = readCount(cursor);
    cell.set(term, bytes.subarray(cursor.at, cursor.at + blockBytes));
    cursor.at += blockBytes;
  }
  return cell;
}

/** Returns the block of one term in a cell. */
export function findTerm(stored: Uint8Array, term: string): Uint8Array | undefined {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const wanted = Buffer.from(term);
  const cursor: Cursor = { bytes, at: 0 };
  while (cursor.at < bytes.length) {
    const termBytes = readCount(cursor);
    const isWanted =
      termBytes === wanted.length &&
      bytes.compare(wanted, 0, termBytes, cursor.at, cursor.at + termBytes) === 0;
    cursor.at += termBytes;
    const blockBytes = readCount(cursor);
    if (isWanted) return bytes.subarray(cursor.at, cursor.at + blockBytes);
    cursor.at += blockBytes;
  }
  return undefined;
}
