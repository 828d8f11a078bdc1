import { createHash } from "node:crypto";

/**
 * The number of shards, which group pages, and of buckets, which group terms. They suit some
 * thousand to some hundred thousand pages.
 */
const shardCount = 64;
const bucketCount = 128;

/** The number of groups into which the pages of a site are divided, for the links to them. */
const linkGroups = 16;
/** A host name is shorter. Other names are cut, so that every key fits into the store. */
const longestSite = 255;

const idBytes = 8;

/** A short name for a page: 64 bits of a hash of its URL. */
export interface PageId {
  /** As a column qualifier: 11 characters. */
  readonly text: string;
  /** The row of `shards` and of `postings` that the page belongs to. */
  readonly shard: string;
}

/** Returns the id of the page at `url`. */
export function pageId(url: string): PageId {
  const hash = hashOf(url);
  return { text: hash.toString("base64url", 0, idBytes), shard: hex(hash[0]! % shardCount, 2) };
}

/** Where the links to a page are: in a row of `links`, in the columns that begin with its id. */
export interface LinkPlace {
  readonly row: readonly [site: string, group: number];
  /** The start of the qualifiers. The id of the linking page follows. */
  readonly prefix: string;
}

/** Returns where the links to the page at `url` are. */
export function linkPlace(url: string): LinkPlace {
  const hash = hashOf(url);
  return {
    row: [siteOf(url), hash[idBytes]! % linkGroups],
    prefix: hash.toString("base64url", 0, idBytes),
  };
}

/** Returns the scheme and the host of a URL. */
function siteOf(url: string): string {
  const host = url.indexOf("//");
  const end = url.indexOf("/", host < 0 ? 0 : host + 2);
  return url.slice(0, Math.min(longestSite, end < 0 ? url.length : end));
}

/** Every shard, in order. */
export function shardNames(): string[] {
  return Array.from({ length: shardCount }, (_, index) => hex(index, 2));
}

/** Returns the column of `postings` that contains a term. */
export function bucketOf(term: string): string {
  const hash = termHash(term);
  return hex((hash ^ (hash >>> 15)) & (bucketCount - 1), 2);
}

/**
 * Returns a hash of 32 bits of the term at `text[start..end)`. It is FNV-1a: there are many more terms
 * than pages, so the hash must be fast.
 */
export function termHash(text: string, start = 0, end = text.length): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Identifies a body: 128 bits of its hash. */
export function contentHash(body: Uint8Array): string {
  return createHash("sha256").update(body).digest().toString("base64url", 0, 16);
}
