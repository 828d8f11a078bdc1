/**
 * The batch twin in memory: builds the whole index from scratch from the loaded pages, by plain
 * functions, without observers and without a database. It does the least possible work, so
 * benchmarks compare with it. It is also the reference for `sorted.ts`, which builds the same
 * tables for any number of pages.
 */
import { type Block, encodeBlock } from "../block.js";
import { AnchorSample, anchorLimits, type Description, describePage } from "../derive.js";
import { bucketOf, linkPlace, pageId } from "../identity.js";
import { encodePostings, type PostingCell } from "../postings.js";
import { type Anchors, highestRank, memberKey, memberUrl } from "../tables.js";
import { type Counts, indexedTerms, lengthsOf, parseCounts, parseTerms } from "../terms.js";
import { inKeyOrder, rowText } from "./order.js";

/** A row with its columns by name. A family is a map by qualifier. Absent cells are left out. */
export type BatchRow = Readonly<Record<string, unknown>>;

/** The rows of a table, in the order of their keys. A key of several parts is given as in `rowText`. */
export type BatchRows = Iterable<readonly [row: string, cells: BatchRow]>;

interface Indexed {
  readonly anchors: Anchors;
  readonly terms: string;
}

export class BatchIndex {
  readonly #pages = new Map<string, Description>();
  /** Anchor texts by target, then by the id of the linking page. */
  readonly #inlinks = new Map<string, Map<string, string>>();
  readonly #urls = new Map<string, string>();

  /** Adds a page. Each URL may be added once, in any order. */
  add(url: string, contents: Uint8Array): void {
    const page = describePage(contents, this.#same(url));
    const links = page.links.map(([target, anchor]) => [this.#same(target), anchor] as const);
    this.#pages.set(this.#same(url), { ...page, links });
    const source = pageId(url).text;
    for (const [target, anchor] of links) {
      const sources = this.#inlinks.get(target);
      if (sources === undefined) this.#inlinks.set(target, new Map([[source, anchor]]));
      else sources.set(source, anchor);
    }
  }

  /** Returns the tables by name. `documents` has no contents, because they are the input. */
  build(): Readonly<Record<string, BatchRows>> {
    const clusters = this.#clusters();
    const indexed = new Map<string, Indexed>();
    for (const members of clusters.values()) {
      const canonical = memberUrl(members[0]!);
      const anchors = this.#anchors(members);
      const terms = indexedTerms(this.#pages.get(canonical)!.words, anchors, this.#rank(canonical));
      indexed.set(canonical, { anchors, terms });
    }
    const shards = invertTerms(indexed);
    return {
      documents: this.#documentRows(indexed),
      clusters: clusterRows(clusters),
      links: this.#linkRows(),
      postings: postingRows(shards),
      shards: shardRows(shards),
    };
  }

  /** Shares one string object among equal strings. There are many more links than pages. */
  #same(url: string): string {
    const known = this.#urls.get(url);
    if (known !== undefined) return known;
    this.#urls.set(url, url);
    return url;
  }

  #rank(url: string): number {
    return Math.min(this.#inlinks.get(url)?.size ?? 0, highestRank);
  }

  /**
   * Returns the members of each cluster by its hash. They are given as `memberKey`s, in key order.
   */
  #clusters(): Map<string, string[]> {
    const clusters = new Map<string, string[]>();
    for (const [url, { hash }] of this.#pages) {
      const member = memberKey(this.#rank(url), url);
      const members = clusters.get(hash);
      if (members === undefined) clusters.set(hash, [member]);
      else members.push(member);
    }
    for (const [hash, members] of clusters) clusters.set(hash, inKeyOrder(members));
    return clusters;
  }

  #anchors(members: readonly string[]): Anchors {
    const sample = new AnchorSample();
    for (const member of members.slice(0, anchorLimits.members)) {
      const sources = this.#inlinks.get(memberUrl(member)) ?? new Map<string, string>();
      for (const source of [...sources.keys()].sort().slice(0, sample.left)) sample.add(sources.get(source)!);
    }
    return sample.anchors;
  }

  *#documentRows(indexed: ReadonlyMap<string, Indexed>): BatchRows {
    for (const url of inKeyOrder(this.#pages.keys())) {
      const { truncated, ...page } = this.#pages.get(url)!;
      const cut = truncated === undefined ? {} : { truncated };
      const own = { ...page, ...cut, rank: this.#rank(url), cluster: page.hash };
      const found = indexed.get(url);
      if (found === undefined) yield [url, own];
      else if (found.anchors.length === 0) yield [url, { ...own, terms: found.terms }];
      else yield [url, { ...own, ...found }];
    }
  }

  *#linkRows(): BatchRows {
    const rows = new Map<string, Map<string, string>>();
    for (const [target, links] of this.#inlinks) {
      const { row, prefix } = linkPlace(target);
      const key = rowText(row);
      const sources = rows.get(key) ?? new Map<string, string>();
      rows.set(key, sources);
      for (const [source, anchor] of links) sources.set(prefix + source, anchor);
    }
    for (const row of inKeyOrder(rows.keys())) yield [row, { sources: rows.get(row)! }];
  }
}

function* clusterRows(clusters: ReadonlyMap<string, readonly string[]>): BatchRows {
  for (const hash of inKeyOrder(clusters.keys())) {
    const members = clusters.get(hash)!;
    const ranks = new Map(members.map((key) => [key, highestRank - Number(key.slice(0, key.indexOf(" ")))]));
    yield [hash, { members: ranks, canonical: memberUrl(members[0]!) }];
  }
}

/** The contents of one shard. */
interface Shard {
  readonly urls: Map<string, string>;
  readonly lengths: Block;
  readonly postings: Map<string, Block>;
}

function invertTerms(indexed: ReadonlyMap<string, Indexed>): Map<string, Shard> {
  const shards = new Map<string, Shard>();
  for (const [url, { terms: stored }] of indexed) {
    const { text: id, shard: name } = pageId(url);
    let shard = shards.get(name);
    if (shard === undefined) {
      shard = { urls: new Map(), lengths: new Map(), postings: new Map() };
      shards.set(name, shard);
    }
    const terms = parseTerms(stored);
    shard.urls.set(id, url);
    shard.lengths.set(id, lengthsOf(stored));
    for (const [term, counts] of terms) addPosting(shard.postings, term, id, parseCounts(counts));
  }
  return shards;
}

function addPosting(postings: Map<string, Block>, term: string, id: string, counts: Counts): void {
  const block = postings.get(term);
  if (block === undefined) postings.set(term, new Map([[id, counts]]));
  else block.set(id, counts);
}

function* postingRows(shards: ReadonlyMap<string, Shard>): BatchRows {
  for (const name of inKeyOrder(shards.keys())) {
    const cells = new Map<string, PostingCell>();
    for (const [term, block] of shards.get(name)!.postings) {
      const bucket = bucketOf(term);
      const cell: PostingCell = cells.get(bucket) ?? new Map();
      cells.set(bucket, cell);
      cell.set(term, encodeBlock(block)!);
    }
    const encoded = [...cells].map(([bucket, cell]) => [bucket, encodePostings(cell)!] as const);
    yield [name, { documents: new Map(encoded) }];
  }
}

function* shardRows(shards: ReadonlyMap<string, Shard>): BatchRows {
  for (const name of inKeyOrder(shards.keys())) {
    const { urls, lengths } = shards.get(name)!;
    yield [name, shardRow(urls, lengths)];
  }
}

/** Builds the row of a shard with these pages. */
export function shardRow(urls: ReadonlyMap<string, string>, lengths: Block): BatchRow {
  const sums: [number, number, number] = [0, 0, 0];
  for (const [text, title, anchors] of lengths.values()) {
    sums[0] += text;
    sums[1] += title;
    sums[2] += anchors;
  }
  return { urls, lengths: encodeBlock(lengths), statistics: { pages: lengths.size, lengths: sums } };
}
