/**
 * The batch twin for an index of any size. It makes the same tables as `batch.ts` by sorting.
 * Derived data passes through sorts that spill to files. So memory contains only a few buffers of
 * constant size and the widest row, however many pages there are.
 *
 * pages by URL, links by target -> pages by cluster -> pages by URL, with rank and anchors ->
 * postings, shards
 */
import { type Block, encodeBlock } from "../block.js";
import { AnchorSample, anchorLimits, type Description, describePage } from "../derive.js";
import { bucketOf, linkPlace, pageId } from "../identity.js";
import { encodePostings, type PostingCell } from "../postings.js";
import { type Anchors, highestRank, memberKey, memberUrl } from "../tables.js";
import { type Counts, indexedTerms, lengthsOf, parseCounts, parseTerms } from "../terms.js";
import { type BatchRows, shardRow } from "./batch.js";
import { ExternalSort, type SortedRecord } from "./external-sort.js";
import { compareKeys, rowText } from "./order.js";

/** Separates the parts of a key. It is lower than every character of a URL, a term or an id. */
const between = "\x01";

/** A page with its rank, and with its anchors if it is canonical. */
interface Placed {
  readonly url: string;
  readonly page: Description;
  readonly rank: number;
  readonly anchors: Anchors | null;
}

export class SortedIndex implements Disposable {
  readonly #pages: ExternalSort;
  /** The links by target, and by the row of `links` that they are in. */
  readonly #links: ExternalSort;
  readonly #linkCells: ExternalSort;
  /**
   * The texts of the first links to each page. Pages are sorted by cluster, and within a cluster by
   * rank.
   */
  readonly #members: ExternalSort;
  readonly #places: ExternalSort;
  readonly #postings: ExternalSort;
  readonly #shards: ExternalSort;

  /** `heldBytes`: the most bytes that each of the seven sorts keeps in memory. */
  constructor(heldBytes?: number) {
    this.#pages = new ExternalSort(heldBytes);
    this.#links = new ExternalSort(heldBytes);
    this.#linkCells = new ExternalSort(heldBytes);
    this.#members = new ExternalSort(heldBytes);
    this.#places = new ExternalSort(heldBytes);
    this.#postings = new ExternalSort(heldBytes);
    this.#shards = new ExternalSort(heldBytes);
  }

  /** The bytes of added and derived records that are now in memory. */
  get heldBytes(): number {
    return this.#sorts.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
  }

  get #sorts(): readonly ExternalSort[] {
    return [
      this.#pages,
      this.#links,
      this.#linkCells,
      this.#members,
      this.#places,
      this.#postings,
      this.#shards,
    ];
  }

  /** Adds a page. Each URL may be added once, in any order. */
  add(url: string, contents: Uint8Array): void {
    const page = describePage(contents, url);
    this.#pages.add(url, JSON.stringify(page));
    const source = pageId(url).text;
    for (const [target, anchor] of page.links) {
      const { row, prefix } = linkPlace(target);
      this.#links.add(target + between + source, anchor);
      this.#linkCells.add(rowText(row) + between + prefix + source, anchor);
    }
  }

  /** Returns the tables by name. `documents` has no loaded columns, because they are the input. */
  build(): Readonly<Record<string, BatchRows>> {
    for (const _ of this.prepare());
    return this.tables();
  }

  /**
   * Computes everything that {@link tables} needs, when all pages are added. Yields after each page,
   * so that the caller can do something else in between.
   */
  *prepare(): Generator<void, void> {
    yield* this.#rank();
    yield* this.#place();
    yield* this.#index();
  }

  /** The tables by name, after {@link prepare}. Each can be read once. */
  tables(): Readonly<Record<string, BatchRows>> {
    return {
      documents: this.#documentRows(),
      clusters: this.#clusterRows(),
      links: this.#linkRows(),
      postings: this.#postingRows(),
      shards: this.#shardRows(),
    };
  }

  [Symbol.dispose](): void {
    for (const sort of this.#sorts) sort[Symbol.dispose]();
  }

  /** Ranks each page and adds it to its cluster. */
  *#rank(): Generator<void, void> {
    for (const { url, value, joined } of join(this.#pages.records(), this.#inlinks())) {
      const { hash } = JSON.parse(value) as Description;
      const key = hash + between + memberKey(joined?.rank ?? 0, url);
      this.#members.add(key, JSON.stringify(joined?.texts ?? []));
      yield;
    }
  }

  /**
   * For each target, yields how many pages link to it and the texts of the first links, both up to
   * their limits.
   */
  *#inlinks(): Generator<{ readonly url: string; readonly rank: number; readonly texts: string[] }, void> {
    let found: { url: string; rank: number; texts: string[] } | undefined;
    for (const { key, value } of this.#links.records()) {
      const [url] = parts(key);
      if (found === undefined || found.url !== url) {
        if (found !== undefined) yield found;
        found = { url: url!, rank: 0, texts: [] };
      }
      if (found.rank < highestRank) found.rank++;
      if (found.texts.length < anchorLimits.links) found.texts.push(value);
    }
    if (found !== undefined) yield found;
  }

  /**
   * Sorts the members of each cluster by URL again. The first member gets the anchors of the
   * cluster.
   */
  *#place(): Generator<void, void> {
    let cluster = "";
    let first: { readonly member: string; readonly sample: AnchorSample; members: number } | undefined;
    const end = () => {
      if (first !== undefined) this.#addPlace(first.member, first.sample.anchors);
    };
    for (const { key, value } of this.#members.records()) {
      yield;
      const [hash, member] = parts(key);
      if (first === undefined || hash !== cluster) {
        end();
        cluster = hash!;
        first = { member: member!, sample: new AnchorSample(), members: 0 };
      } else {
        this.#addPlace(member!, null);
      }
      if (first.members++ >= anchorLimits.members) continue;
      for (const text of JSON.parse(value) as string[]) first.sample.add(text);
    }
    end();
  }

  #addPlace(member: string, anchors: Anchors | null): void {
    this.#places.add(memberUrl(member), JSON.stringify([rankOf(member), anchors]));
  }

  *#index(): Generator<void, void> {
    for (const { url, page, rank, anchors } of this.#placed()) {
      yield;
      if (anchors === null) continue;
      const terms = indexedTerms(page.words, anchors, rank);
      const { text: id, shard } = pageId(url);
      this.#shards.add(shard + between + id, JSON.stringify([url, lengthsOf(terms)]));
      for (const [term, counts] of parseTerms(terms)) {
        this.#postings.add([shard, bucketOf(term), term, id].join(between), counts);
      }
    }
  }

  *#placed(): Generator<Placed, void> {
    for (const { url, value, joined } of join(this.#pages.records(), places(this.#places.records()))) {
      const { rank, anchors } = joined!;
      yield { url, page: JSON.parse(value) as Description, rank, anchors };
    }
  }

  *#documentRows(): BatchRows {
    for (const { url, page, rank, anchors } of this.#placed()) {
      const own = { ...page, rank, cluster: page.hash };
      if (anchors === null) {
        yield [url, own];
        continue;
      }
      const terms = indexedTerms(page.words, anchors, rank);
      yield [url, anchors.length === 0 ? { ...own, terms } : { ...own, anchors, terms }];
    }
  }

  *#clusterRows(): BatchRows {
    for (const [hash, found] of groups(this.#members.records())) {
      const members = new Map(found.map(({ rest }) => [rest[0]!, rankOf(rest[0]!)]));
      yield [hash, { members, canonical: memberUrl(found[0]!.rest[0]!) }];
    }
  }

  *#linkRows(): BatchRows {
    for (const [row, found] of groups(this.#linkCells.records())) {
      yield [row, { sources: new Map(found.map(({ rest, value }) => [rest[0]!, value])) }];
    }
  }

  *#postingRows(): BatchRows {
    for (const [shard, found] of groups(this.#postings.records())) {
      const blocks = new Map<string, Map<string, Block>>();
      for (const { rest, value } of found) {
        const [bucket, term, id] = rest as [string, string, string];
        const cell = blocks.get(bucket) ?? new Map<string, Block>();
        blocks.set(bucket, cell);
        const block: Block = cell.get(term) ?? new Map();
        cell.set(term, block);
        block.set(id, parseCounts(value));
      }
      const cells = [...blocks].map(([bucket, terms]) => {
        const cell: PostingCell = new Map([...terms].map(([term, block]) => [term, encodeBlock(block)!]));
        return [bucket, encodePostings(cell)!] as const;
      });
      yield [shard, { documents: new Map(cells) }];
    }
  }

  *#shardRows(): BatchRows {
    for (const [shard, found] of groups(this.#shards.records())) {
      const urls = new Map<string, string>();
      const lengths: Block = new Map();
      for (const { rest, value } of found) {
        const [url, counts] = JSON.parse(value) as [string, Counts];
        urls.set(rest[0]!, url);
        lengths.set(rest[0]!, counts);
      }
      yield [shard, shardRow(urls, lengths)];
    }
  }
}

function parts(key: string): string[] {
  return key.split(between);
}

function rankOf(member: string): number {
  return highestRank - Number(member.slice(0, member.indexOf(" ")));
}

function* places(records: Iterable<SortedRecord>) {
  for (const { key: url, value } of records) {
    const [rank, anchors] = JSON.parse(value) as [number, Anchors | null];
    yield { url, rank, anchors };
  }
}

/**
 * Joins two inputs, both in key order. Yields every record of the first, with the matching record
 * of the second.
 */
function* join<T extends { readonly url: string }>(
  records: Iterable<SortedRecord>,
  others: Iterator<T>,
): Generator<{ readonly url: string; readonly value: string; readonly joined: T | undefined }, void> {
  let other = others.next();
  for (const { key: url, value } of records) {
    while (!other.done && compareKeys(other.value.url, url) < 0) other = others.next();
    yield { url, value, joined: !other.done && other.value.url === url ? other.value : undefined };
  }
}

interface Grouped {
  /** The further parts of the key. */
  readonly rest: readonly string[];
  readonly value: string;
}

/** Groups records by the first part of their keys, so that each group is one row. */
function* groups(records: Iterable<SortedRecord>): Generator<readonly [first: string, Grouped[]], void> {
  let group: [string, Grouped[]] | undefined;
  for (const { key, value } of records) {
    const [first, ...rest] = parts(key);
    if (group === undefined || group[0] !== first) {
      if (group !== undefined) yield group;
      group = [first!, []];
    }
    group[1].push({ rest, value });
  }
  if (group !== undefined) yield group;
}
