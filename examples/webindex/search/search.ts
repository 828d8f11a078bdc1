import { setImmediate as turn } from "node:timers/promises";
import type { Snapshot } from "percolatordb";
import { decodeBlock, readBlock } from "../block.js";
import { unpackContents } from "../contents.js";
import { bucketOf } from "../identity.js";
import { findTerm } from "../postings.js";
import { clusters, documents, postings, type Statistics, shards } from "../tables.js";
import type { Counts } from "../terms.js";
import { extract, termCounts } from "../text/index.js";
import { scoreTerm } from "./bm25.js";
import { Overlay, type WaitingPage } from "./overlay.js";
import { makeSnippet, type SnippetPart } from "./snippet.js";

export interface SearchResult {
  readonly url: string;
  readonly title: string;
  readonly score: number;
  readonly snippet: readonly SnippetPart[];
  /** How many pages link to it, up to the limit of counting. */
  readonly rank: number;
  /** How many other pages have the same contents, up to the limit of counting. */
  readonly duplicates: number;
}

export interface SearchAnswer {
  /** The terms of the query. */
  readonly terms: readonly string[];
  /** How many pages have at least one of the terms. */
  readonly total: number;
  /** The best first. Results with the same score are ordered by URL. */
  readonly results: readonly SearchResult[];
}

export const searchLimits = { terms: 16, results: 100, duplicates: 100 } as const;
/** How many results are read concurrently. */
const resultsAtOnce = 10;

interface Candidate {
  readonly id: string;
  readonly shard: string;
  /** Only of a page that waits to be merged. */
  readonly url: string | undefined;
  score: number;
  matched: number;
}

/** The pages of one shard that have a term. */
interface TermBlock {
  readonly shard: string;
  readonly bytes: Uint8Array;
  /** Pages to ignore in the block, because they wait to be merged. */
  readonly hidden: ReadonlySet<string>;
}

/** A page among the results. */
interface Scored {
  readonly url: string;
  readonly score: number;
}

/** A page that has a term. */
interface Posting {
  readonly id: string;
  readonly shard: string;
  readonly url: string | undefined;
  readonly counts: Counts;
  readonly lengths: Counts;
}

/**
 * Finds the pages with any of the terms of a query, ranked by BM25. A page with several of the
 * terms scores for each. Throws the signal's reason after it was aborted.
 */
export async function search(
  view: Snapshot,
  query: string,
  limit = 10,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  const terms = [...termCounts(query).keys()].slice(0, searchLimits.terms);
  const candidates = await findCandidates(view, terms);
  const best = await inOrder(view, [...candidates.values()], Math.min(limit, searchLimits.results));
  const results = await describeResults(view, best, new Set(terms), signal);
  return { terms, total: candidates.size, results };
}

async function findCandidates(view: Snapshot, terms: readonly string[]): Promise<Map<string, Candidate>> {
  const overlay = await Overlay.read(view);
  const all = overlay.statistics(await readMerged(view));
  const lengths = new Map<string, ReadonlyMap<string, Counts>>();
  const candidates = new Map<string, Candidate>();
  for (const term of terms) {
    const blocks = await readBlocks(view, term, overlay);
    const waiting = await overlay.find(term);
    const frequency = countFields(blocks, waiting);
    const add = ({ id, shard, url, counts, lengths }: Posting) => {
      const score = scoreTerm(counts, lengths, frequency, all);
      const known = candidates.get(id);
      if (known === undefined) candidates.set(id, { id, shard, url, score, matched: 1 });
      else {
        known.score += score;
        known.matched++;
      }
    };
    await readLengths(view, blocks, lengths);
    for (const block of blocks) {
      const { shard } = block;
      const ofShard = lengths.get(shard)!;
      visit(block, (id, counts) => add({ id, shard, url: undefined, counts, lengths: ofShard.get(id)! }));
    }
    for (const { page, counts } of waiting) add({ ...page, counts });
  }
  for (const candidate of candidates.values()) candidate.score *= candidate.matched;
  return candidates;
}

/** Reads the postings of a term. */
async function readBlocks(view: Snapshot, term: string, overlay: Overlay): Promise<TermBlock[]> {
  const blocks: TermBlock[] = [];
  for await (const { qualifier: shard, value } of view.entries(postings.documents, bucketOf(term))) {
    const bytes = findTerm(value, term);
    if (bytes !== undefined) blocks.push({ shard, bytes, hidden: overlay.hidden(shard) });
  }
  return blocks;
}

/** Visits the pages of a block that do not wait to be merged. */
function visit({ bytes, hidden }: TermBlock, page: (id: string, counts: Counts) => void): void {
  readBlock(bytes, (id, ...counts) => {
    if (!hidden.has(id)) page(id, counts);
  });
}

/** Returns how many pages can be found, and their lengths. */
export async function readStatistics(view: Snapshot): Promise<Statistics> {
  return (await Overlay.read(view)).statistics(await readMerged(view));
}

async function readMerged(view: Snapshot): Promise<Statistics> {
  let pages = 0;
  const lengths: [number, number, number] = [0, 0, 0];
  for await (const { value } of view.scan(shards.statistics)) {
    pages += value.pages;
    for (const field of [0, 1, 2] as const) lengths[field] += value.lengths[field];
  }
  return { pages, lengths };
}

/** For each field, counts the pages that have the term. */
function countFields(
  blocks: readonly TermBlock[],
  waiting: readonly { readonly page: WaitingPage; readonly counts: Counts }[],
): Counts {
  const frequency: [number, number, number] = [0, 0, 0];
  const add = (counts: Counts) => {
    for (const field of [0, 1, 2] as const) if (counts[field] > 0) frequency[field]++;
  };
  for (const block of blocks) visit(block, (_id, counts) => add(counts));
  for (const { counts } of waiting) add(counts);
  return frequency;
}

async function readLengths(
  view: Snapshot,
  blocks: readonly TermBlock[],
  known: Map<string, ReadonlyMap<string, Counts>>,
): Promise<void> {
  const missing = blocks.map(({ shard }) => shard).filter((shard) => !known.has(shard));
  const found = await view.getMany(shards.lengths, missing);
  for (const [index, shard] of missing.entries()) known.set(shard, decodeBlock(found[index]));
}

/**
 * Returns the best candidates in order. If candidates beyond the limit have the same score as the
 * last one within it, the URL decides between them.
 */
async function inOrder(view: Snapshot, candidates: Candidate[], limit: number): Promise<Scored[]> {
  const maxTies = 1_000;
  candidates.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  const last = candidates[Math.min(limit, candidates.length) - 1];
  if (last === undefined) return [];
  let end = limit;
  while (end < Math.min(candidates.length, limit + maxTies) && candidates[end]!.score === last.score) end++;
  const named = await Promise.all(
    candidates.slice(0, end).map(async ({ id, shard, url, score }) => {
      return { url: url ?? (await view.get(shards.urls.at(id), shard))!, score };
    }),
  );
  return named.sort((a, b) => b.score - a.score || (a.url < b.url ? -1 : 1)).slice(0, limit);
}

/**
 * Reads some results concurrently, then parses one at a time. Between two results other requests
 * can run, and an abort can end this request.
 */
async function describeResults(
  view: Snapshot,
  best: readonly Scored[],
  terms: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<SearchResult[]> {
  const results: SearchResult[] = [];
  for (let at = 0; at < best.length; at += resultsAtOnce) {
    const few = best.slice(at, at + resultsAtOnce);
    for (const read of await Promise.all(few.map((each) => readResult(view, each)))) {
      signal?.throwIfAborted();
      results.push(withSnippet(read, terms));
      await turn();
    }
  }
  return results;
}

interface ReadResult extends Omit<SearchResult, "snippet"> {
  readonly contents: Uint8Array | undefined;
}

async function readResult(view: Snapshot, { url, score }: Scored): Promise<ReadResult> {
  const [title = "", rank = 0, hash, contents] = await Promise.all([
    view.get(documents.title, url),
    view.get(documents.rank, url),
    view.get(documents.hash, url),
    view.get(documents.contents, url),
  ]);
  const duplicates = hash === undefined ? 0 : await countDuplicates(view, hash);
  return { url, title, score, rank, duplicates, contents };
}

function withSnippet({ contents, ...read }: ReadResult, terms: ReadonlySet<string>): SearchResult {
  const snippet = contents === undefined ? [] : makeSnippet(textOf(contents, read.url), terms);
  return { ...read, snippet };
}

/** The text of a page is not stored, but read from the page's contents. */
function textOf(contents: Uint8Array, url: string): string {
  const { contentType, body } = unpackContents(contents);
  return extract(body, contentType, url).text;
}

async function countDuplicates(view: Snapshot, hash: string): Promise<number> {
  let members = 0;
  for await (const _ of view.entries(clusters.members, hash, { limit: searchLimits.duplicates + 1 }))
    members++;
  return Math.max(0, members - 1);
}
