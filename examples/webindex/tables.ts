/** What is stored. Pages come in by `documents.contents`; the observers derive everything else. */
import { bytes, family, int, json, signal, table, text } from "percolatordb";
import type { Counts } from "./terms.js";

/**
 * A page's links: the URL that each leads to, once, and its anchor text. Ordered as on the page.
 */
export type Links = readonly (readonly [url: string, anchor: string])[];

/** Anchor texts that lead to a page, with the number of links that have them. */
export type Anchors = readonly (readonly [text: string, times: number])[];

/** Pages by URL. */
export const documents = table("documents", {
  /**
   * The body and its Content-Type, packed (`contents.ts`). What is loaded, with `digests` and
   * `captures`.
   */
  contents: bytes(),
  /**
   * Digests that archives record for these contents and that the body does not have, as it was
   * transferred encoded; apart by spaces.
   */
  digests: text(),
  /**
   * When archives recorded these contents, or found them unchanged (`revisit.ts`); apart by spaces.
   */
  captures: text(),
  /** Hash of the body: the cluster that the page belongs to. */
  hash: text(),
  title: text(),
  /** The terms of text and title (`terms.ts`). */
  words: text(),
  links: json<Links>(),
  /**
   * Of a page that has more than is indexed: what is left out, as in `truncations`, apart by
   * spaces.
   */
  truncated: text(),
  /** How many pages link to it, up to a limit. */
  rank: int(),
  /** The cluster in which it stands as a member, under its rank. */
  cluster: text(),
  /**
   * On a canonical page: the anchors that lead to it or to one of its duplicates, up to a limit.
   */
  anchors: json<Anchors>(),
  /**
   * What of it is in the postings, or is about to be: text, title and anchors. None for a
   * duplicate.
   */
  terms: text(),
  /** It is another page than before: it may belong to another cluster. */
  rescore: signal(),
  /** The links to it may have changed. */
  relinked: signal(),
  /** Its terms are others, but not its cluster. */
  reindex: signal(),
});

/** Pages of equal contents, by hash. */
export const clusters = table("clusters", {
  /** By `memberKey`: the highest rank first, then by URL. The value is the rank. */
  members: family(int()),
  /** The first of the members: the one that can be found. */
  canonical: text(),
  /** Of a large cluster: members have moved, or the links to them. */
  elect: signal(),
});

/** Links inverted, by the URL that they lead to. */
export const links = table("links", {
  /** By the id of the page that links: the anchor text. */
  sources: family(text()),
});

/** The inverted index, by bucket of terms (`bucketOf`). */
export const postings = table("postings", {
  /**
   * By shard: for each term of the bucket the pages of the shard that have it, and how often
   * (`postings.ts`).
   */
  documents: family(bytes()),
});

/**
 * The pages that can be found, in groups by their id; a group is merged into the postings at a
 * time.
 */
export const shards = table("shards", {
  /** By id, pages that wait to be merged. A search lays them over the postings. */
  pending: family(json<Waiting | FormerWaiting>()),
  /** The pages' lengths: how many different terms each field has (`block.ts`). */
  lengths: bytes(),
  /** How many pages, and the sums of their lengths. */
  statistics: json<Statistics>(),
  /** By id. */
  urls: family(text()),
  /** Something waits. */
  merge: signal(),
});

/**
 * A page that waits to be merged: the terms that the postings have of it; its lengths as they are
 * now, by `documents.terms`, null where it can no longer be found; its lengths in the postings,
 * null if they do not have it.
 */
export type Waiting = readonly [url: string, terms: string, now: Counts | null, merged: Counts | null];

/**
 * As it was written before searches looked at it: it is found as the postings have it until it is
 * merged.
 */
export type FormerWaiting = readonly [url: string, terms: string];

/** Of a number of pages: how many, and the sums of their fields' lengths. */
export interface Statistics {
  readonly pages: number;
  readonly lengths: readonly [text: number, title: number, anchors: number];
}

export const tables = [documents, clusters, links, postings, shards];

/** Ranks beyond are not told apart. Bounds what is read to know one. */
export const highestRank = 250;

/** The qualifier of a member: sorts by rank, the highest first, then by URL. */
export function memberKey(rank: number, url: string): string {
  return `${String(highestRank - rank).padStart(3, "0")} ${url}`;
}

/** The URL in a {@link memberKey}. */
export function memberUrl(key: string): string {
  return key.slice(key.indexOf(" ") + 1);
}
