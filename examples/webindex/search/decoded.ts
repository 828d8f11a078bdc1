/**
 * The pages and postings of one shard as typed arrays. Within a shard a page is a number: its place
 * in the block of the shard's lengths. A decoded block of a term names pages by these numbers, so it
 * belongs to the same version of the shard as the lengths.
 */
import { type Cursor, idBytes, readCounts } from "../block.js";
import type { Statistics } from "../tables.js";
import type { Counts } from "../terms.js";

/** The pages of a shard, in the order of their ids, with their lengths. */
export interface ShardPages {
  /** The ids, `idBytes` bytes each. */
  readonly ids: Buffer;
  /** Three lengths for each page: of its text, its title and its anchors. */
  readonly lengths: Uint32Array;
  readonly statistics: Statistics;
}

/** The pages of a shard that have a term. */
export interface TermBlock {
  /** The pages' numbers, in ascending order. */
  readonly pages: Uint32Array;
  /** Three counts for each page: in its text, its title and its anchors. */
  readonly counts: Uint32Array;
  /** For each field, how many pages have the term. */
  readonly frequency: Counts;
  /** For each field, the highest count and the smallest length. They bound the scores. */
  readonly highest: Counts;
  readonly shortest: Counts;
}

/** Decodes the block of a shard's lengths. */
export function decodePages(stored: Uint8Array | undefined): ShardPages {
  const { ids, values } = readEntries(stored ?? new Uint8Array());
  const sums: [number, number, number] = [0, 0, 0];
  for (const [at, length] of values.entries()) sums[(at % 3) as 0 | 1 | 2] += length;
  return { ids, lengths: values, statistics: { pages: values.length / 3, lengths: sums } };
}

/** Decodes the block of a term. `pages` must be the pages of the shard at the same moment. */
export function decodeTerm(stored: Uint8Array, { ids, lengths }: ShardPages): TermBlock {
  const { ids: named, values } = readEntries(stored);
  const pages = new Uint32Array(values.length / 3);
  const frequency: [number, number, number] = [0, 0, 0];
  const highest: [number, number, number] = [0, 0, 0];
  const shortest: [number, number, number] = [Infinity, Infinity, Infinity];
  let page = 0;
  for (let at = 0; at < pages.length; at++) {
    // Both lists have the same order, so one walk finds all pages.
    while (!isSameId(ids, page, named, at)) page++;
    pages[at] = page;
    for (const field of [0, 1, 2] as const) {
      const count = values[at * 3 + field]!;
      if (count === 0) continue;
      frequency[field]++;
      highest[field] = Math.max(highest[field], count);
      shortest[field] = Math.min(shortest[field], lengths[page * 3 + field]!);
    }
  }
  return { pages, counts: values, frequency, highest, shortest };
}

/** Returns the number of a page in its shard, or -1 if the shard does not have it. */
export function findPage({ ids }: ShardPages, id: string): number {
  const wanted = Buffer.from(id, "base64url");
  for (let at = ids.indexOf(wanted); at >= 0; at = ids.indexOf(wanted, at + 1)) {
    if (at % idBytes === 0) return at / idBytes;
  }
  return -1;
}

/** Returns the id of a page. */
export function idOf({ ids }: ShardPages, page: number): string {
  return ids.toString("base64url", page * idBytes, (page + 1) * idBytes);
}

/** Returns the place of a page in a block, or -1 if the page does not have the term. */
export function placeIn({ pages }: TermBlock, page: number): number {
  let [low, high] = [0, pages.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pages[middle]! < page) low = middle + 1;
    else high = middle;
  }
  return pages[low] === page ? low : -1;
}

/** The memory of a block in bytes, roughly. */
export function sizeOf({ pages, counts }: TermBlock): number {
  const objects = 400;
  return objects + pages.byteLength + counts.byteLength;
}

function readEntries(stored: Uint8Array): { readonly ids: Buffer; readonly values: Uint32Array } {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const most = Math.floor(bytes.length / (idBytes + 1));
  const ids = Buffer.allocUnsafe(most * idBytes);
  const values = new Uint32Array(most * 3);
  const cursor: Cursor = { bytes, at: 0 };
  let entries = 0;
  for (; cursor.at < bytes.length; entries++) {
    bytes.copy(ids, entries * idBytes, cursor.at, cursor.at + idBytes);
    cursor.at += idBytes;
    readCounts(cursor, values, entries * 3);
  }
  return { ids: ids.subarray(0, entries * idBytes), values: values.slice(0, entries * 3) };
}

function isSameId(one: Buffer, at: number, other: Buffer, otherAt: number): boolean {
  if ((at + 1) * idBytes > one.length) throw new Error("A page of the postings is missing in its shard.");
  for (let byte = 0; byte < idBytes; byte++) {
    if (one[at * idBytes + byte] !== other[otherAt * idBytes + byte]) return false;
  }
  return true;
}
