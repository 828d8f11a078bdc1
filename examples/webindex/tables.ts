/** The tables. Pages are loaded into `documents.contents`. The observers derive everything else. */
import { bytes, compressed, family, int, json, signal, table, text, tuple } from "percolatordb";
import type { Counts } from "./terms.js";

/** A page's links, in the order of the page: each target URL once, with its anchor text. */
export type Links = readonly (readonly [url: string, anchor: string])[];

/** Anchor texts of links to a page, with the number of links that have each text. */
export type Anchors = readonly (readonly [text: string, times: number])[];

/** Pages by URL. */
export const documents = table("documents", {
  /**
   * The body and its Content-Type, packed (`contents.ts`). Written by the load, as are `digests`
   * and `captures`.
   */
  contents: compressed(bytes()),
  /**
   * Digests that archives record for these contents but that the decoded body does not have,
   * because it was transferred encoded. Separated by spaces.
   */
  digests: text(),
  /**
   * When archives recorded these contents, or found them unchanged (`revisit.ts`). Separated by
   * spaces.
   */
  captures: text(),
  /** Hash of the body. It identifies the page's cluster. */
  hash: text(),
  title: text(),
  /** The terms of text and title (`terms.ts`). */
  words: compressed(text()),
  links: compressed(json<Links>()),
  /**
   * Which parts are cut off, if the page has more than the index takes: as in `truncations`,
   * separated by spaces.
   */
  truncated: text(),
  /** How many pages link to it, up to a limit. */
  rank: int(),
  /** The cluster that currently lists the page as a member, under its rank. */
  cluster: text(),
  /** On a canonical page: the anchors of links to it or to one of its duplicates, up to a limit. */
  anchors: compressed(json<Anchors>()),
  /**
   * The terms that are in the postings, or wait to be merged: of text, title and anchors. None for
   * a duplicate.
   */
  terms: compressed(text()),
  /** The page's contents changed, so it may belong to another cluster. */
  rescore: signal(),
  /** The links to it may have changed. */
  relinked: signal(),
  /** Its terms changed, but its cluster did not. */
  reindex: signal(),
});

/** Pages of equal contents, by hash. */
export const clusters = table("clusters", {
  /** By `memberKey`: the highest rank first, then by URL. The value is the rank. */
  members: family(int()),
  /** The first of the members. Only this one can be found. */
  canonical: text(),
  /** For a large cluster: members have moved, or links to them have changed. */
  elect: signal(),
});

/**
 * Inverted links. A row has the links to a group of the pages of one site (`linkPlace`), so that
 * the links of a page are in few rows.
 */
export const links = table(
  "links",
  {
    /** The anchor text, by the id of the page that the link leads to, then that of the linking page. */
    sources: family(text()),
  },
  { key: tuple(text(), int()) },
);

/** The inverted index, by shard of pages. So a merge, which updates one shard, writes one row. */
export const postings = table("postings", {
  /**
   * By bucket of terms (`bucketOf`): for each term of the bucket the pages of the shard that have
   * it, and how often (`postings.ts`).
   */
  documents: family(bytes()),
});

/**
 * The pages that can be found, grouped into shards by their ids. One merge updates the postings of
 * one shard.
 */
export const shards = table("shards", {
  /** Pages that wait to be merged, by id. A search overlays them on the postings. */
  waiting: family(json<Waiting>()),
  /**
   * The terms that the postings have for a waiting page, by id. None if they have none. A search does
   * not read them.
   */
  outdated: family(compressed(text())),
  /**
   * The version of the shard: the start timestamp of its last merge. Searches keep what they have
   * decoded of a shard until it changes. It is not derived from the pages, so the twin has none.
   */
  merged: int(),
  /** The pages' lengths: the number of different terms in each field (`block.ts`). */
  lengths: bytes(),
  /** The number of pages, and the sums of their lengths. */
  statistics: json<Statistics>(),
  /** URLs by page id. */
  urls: family(text()),
  /** A page waits to be merged. */
  merge: signal(),
});

/**
 * A page that waits to be merged. `now` are its current lengths, computed from `documents.terms`, or
 * null if it can no longer be found. `merged` are its lengths in the postings, or null if the
 * postings do not have the page. `version` is the start timestamp of the transaction that changed
 * its terms.
 */
export type Waiting = readonly [url: string, now: Counts | null, merged: Counts | null, version: number];

/** How many pages a shard or the whole index has, and the sums of the lengths of their fields. */
export interface Statistics {
  readonly pages: number;
  readonly lengths: readonly [text: number, title: number, anchors: number];
}

export const tables = [documents, clusters, links, postings, shards];

/** The highest rank. It limits how many links are read to compute a rank. */
export const highestRank = 250;

/**
 * The term under which the postings have the level of each page's rank. No word is equal to it. So
 * a search finds the rank of every page as it finds the pages with a word.
 */
export const rankTerm = "^";

/**
 * The level of a rank: its number of binary digits. A page is indexed again only if its level
 * changes, not at every new link.
 */
export function levelOf(rank: number): number {
  return 32 - Math.clz32(rank);
}

export const highestLevel = levelOf(highestRank);

/** Returns the qualifier of a member. It sorts by rank, the highest first, then by URL. */
export function memberKey(rank: number, url: string): string {
  return `${String(highestRank - rank).padStart(3, "0")} ${url}`;
}

/** Returns the URL in a {@link memberKey}. */
export function memberUrl(key: string): string {
  return key.slice(key.indexOf(" ") + 1);
}
