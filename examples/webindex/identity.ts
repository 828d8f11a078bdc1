import { createHash } from "node:crypto";

/**
 * The number of shards, which group pages, and of buckets, which group terms. They suit some
 * thousand to some hundred thousand pages.
 */
const shardCount = 128;
const bucketCount = 512;

const idBytes = 8;

/** A short name for a page: 64 bits of a hash of its URL. */
export interface PageId {
  /** As a column qualifier: 11 characters. */
  readonly text: string;
  /** The row of `shards` that the page belongs to, and the qualifier of its terms in `postings`. */
  readonly shard: string;
}

/** Returns the id of the page at `url`. */
export function pageId(url: string): PageId {
  const hash = createHash("sha256").update(url).digest();
  return { text: hash.toString("base64url", 0, idBytes), shard: hex(hash[0]! % shardCount, 2) };
}

/** Every shard, in order. */
export function shardNames(): string[] {
  return Array.from({ length: shardCount }, (_, index) => hex(index, 2));
}

/** Every bucket, in order. */
export function bucketNames(): string[] {
  return Array.from({ length: bucketCount }, (_, index) => hex(index, 3));
}

/** Returns the row of `postings` that contains a term. */
export function bucketOf(term: string): string {
  // FNV-1a. There are many more terms than pages, so the hash must be fast.
  let hash = 0x811c9dc5;
  for (let index = 0; index < term.length; index++)
    hash = Math.imul(hash ^ term.charCodeAt(index), 0x01000193);
  return hex((hash ^ (hash >>> 15)) & (bucketCount - 1), 3);
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}

/** Identifies a body: 128 bits of its hash. */
export function contentHash(body: Uint8Array): string {
  return createHash("sha256").update(body).digest().toString("base64url", 0, 16);
}
