import type { Snapshot } from "percolatordb";
import { unpackContents } from "../contents.js";
import { contentHash } from "../identity.js";
import { clusters, documents, type Statistics } from "../tables.js";
import { bodyText, compatible, termCounts } from "../text/index.js";
import { TermScorer } from "./bm25.js";
import { type Cursor, formatCursor, isAfter } from "./cursor.js";
import { type Candidate, type ScoredTerm, selectBest } from "./select.js";
import { makeSnippet, type SnippetPart } from "./snippet.js";
import { Turns } from "./turns.js";
import { groupVersions, type VersionGroup } from "./versions.js";
import { SearchView } from "./view.js";

export interface SearchResult {
  readonly url: string;
  readonly title: string;
  readonly score: number;
  readonly snippet: readonly SnippetPart[];
  /** How many pages link to it, up to the limit of counting. */
  readonly rank: number;
  /** How many other pages have the same contents, up to the limit of counting. */
  readonly duplicates: number;
  /** The URLs of other versions of the page with nearly the same words, the best first. */
  readonly versions: readonly string[];
}

export interface SearchAnswer {
  /** The terms of the query. */
  readonly terms: readonly string[];
  /** How many pages have at least one of the terms. */
  readonly total: number;
  /** The best first. Results with the same score are ordered by URL. */
  readonly results: readonly SearchResult[];
  /** Where the next results begin, for {@link SearchOptions.after}. `undefined` at the end. */
  readonly next: string | undefined;
  /** The query with known words instead of unknown ones. `undefined` if there is nothing to suggest. */
  readonly suggestion: string | undefined;
}

export interface SearchOptions {
  /** Default: 10. */
  readonly limit?: number | undefined;
  /** How many results to leave out at the beginning. Default: 0. */
  readonly offset?: number | undefined;
  /**
   * Leaves out the results up to this one. Unlike an offset, it stays at its place if pages before
   * it come or go. Default: none.
   */
  readonly after?: Cursor | undefined;
  /** Its reason is thrown after it was aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** `depth`: offset and limit together. */
export const searchLimits = { terms: 16, results: 100, depth: 1_000, duplicates: 100, versions: 10 } as const;
/** A query with more unknown words gets no suggestion. */
const maxUnknown = 3;
/** How many results are read concurrently. */
const resultsAtOnce = 10;

/** A page among the results. */
interface Named {
  readonly url: string;
  readonly score: number;
}

interface Found {
  readonly total: number;
  readonly page: readonly VersionGroup<Named>[];
  readonly hasMore: boolean;
}

/**
 * Finds the pages with any of the terms of a query, ranked by BM25 and by the links to them. A page
 * with several of the terms scores for each. Versions of one page are one result.
 */
export async function search(
  view: SearchView,
  query: string,
  options: SearchOptions = {},
): Promise<SearchAnswer> {
  const { signal } = options;
  const terms = [...termCounts(query).keys()].slice(0, searchLimits.terms);
  const scored = await Promise.all(terms.map((term) => scoreable(view, term)));
  signal?.throwIfAborted();
  const { total, page, hasMore } = await findPage(view, scored, options);
  const results = await describeResults(view, page, new Set(terms), signal);
  const last = page.at(-1);
  return {
    terms,
    total,
    results,
    next: hasMore && last !== undefined ? formatCursor(last.best) : undefined,
    suggestion: await suggest(view, terms, scored, signal),
  };
}

async function scoreable(view: SearchView, term: string): Promise<ScoredTerm> {
  const found = await view.term(term);
  return { ...found, scorer: new TermScorer(found.frequency, view.statistics) };
}

/** Finds one page of results. Looks deeper until there are enough besides other versions. */
async function findPage(
  view: SearchView,
  terms: readonly ScoredTerm[],
  { limit = 10, offset = 0, after, signal }: SearchOptions,
): Promise<Found> {
  const ranks = await view.ranks();
  const most = Math.min(limit, searchLimits.results);
  const isWanted = ({ best }: VersionGroup<Named>) => after === undefined || isAfter(best, after);
  for (let depth = offset + most + 1; ; depth *= 4) {
    const looked = Math.min(depth, searchLimits.depth);
    const { total, best } = selectBest(view.groups, terms, ranks, looked);
    const named = await inOrder(view, best, looked);
    const groups = await groupVersions(named, (url) => termsOf(view, url), { signal });
    const wanted = groups.filter(isWanted).slice(offset);
    const isAll = named.length < looked || looked === searchLimits.depth;
    if (!isAll && wanted.length <= most) continue;
    return { total, page: wanted.slice(0, most), hasMore: wanted.length > most };
  }
}

/**
 * Returns the best candidates in order. If candidates beyond the limit have the same score as the
 * last one within it, the URL decides between them, up to {@link maxTies} of them.
 */
async function inOrder(view: SearchView, best: readonly Candidate[], limit: number): Promise<Named[]> {
  const withIds = best.map((each) => ({ ...each, id: view.id(each) }));
  withIds.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  const named = await Promise.all(
    withIds.slice(0, limit + maxTies).map(async (each) => ({ url: await view.url(each), score: each.score })),
  );
  return named.sort((a, b) => b.score - a.score || (a.url < b.url ? -1 : 1)).slice(0, limit);
}

const maxTies = 1_000;

async function termsOf({ snapshot }: SearchView, url: string): Promise<string> {
  return (await snapshot.get(documents.terms, url)) ?? "";
}

/** Returns how many pages can be found, and their lengths. */
export async function readStatistics(snapshot: Snapshot): Promise<Statistics> {
  return (await SearchView.read(snapshot)).statistics;
}

async function suggest(
  view: SearchView,
  terms: readonly string[],
  scored: readonly ScoredTerm[],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const isUnknown = (at: number) => scored[at]!.frequency.every((pages) => pages === 0);
  const unknown = terms.filter((_, at) => isUnknown(at)).length;
  // Each unknown word is compared with all known ones.
  if (unknown === 0 || unknown > maxUnknown) return undefined;
  const vocabulary = await view.vocabulary();
  signal?.throwIfAborted();
  const suggested: string[] = [];
  for (const [at, term] of terms.entries()) {
    suggested.push(isUnknown(at) ? ((await vocabulary.suggest(term, { signal })) ?? term) : term);
  }
  return suggested.every((term, at) => term === terms[at]) ? undefined : suggested.join(" ");
}

/**
 * Reads some results concurrently, then makes one snippet at a time. Between two results other
 * requests can run, and an abort can end this request.
 */
async function describeResults(
  view: SearchView,
  page: readonly VersionGroup<Named>[],
  terms: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<SearchResult[]> {
  const results: SearchResult[] = [];
  const turns = new Turns();
  for (let at = 0; at < page.length; at += resultsAtOnce) {
    const few = page.slice(at, at + resultsAtOnce);
    for (const read of await Promise.all(few.map((each) => readResult(view, each)))) {
      signal?.throwIfAborted();
      const { contents, ...rest } = read;
      const snippet = turns.run(() => makeSnippet(textOf(view, contents, rest.url), terms));
      results.push({ ...rest, snippet });
      await turns.pass();
    }
  }
  return results;
}

interface ReadResult extends Omit<SearchResult, "snippet"> {
  readonly contents: Uint8Array | undefined;
}

async function readResult(
  { snapshot }: SearchView,
  { best: { url, score }, others }: VersionGroup<Named>,
): Promise<ReadResult> {
  const [title = "", rank = 0, hash, contents] = await Promise.all([
    snapshot.get(documents.title, url),
    snapshot.get(documents.rank, url),
    snapshot.get(documents.hash, url),
    snapshot.get(documents.contents, url),
  ]);
  const duplicates = hash === undefined ? 0 : await countDuplicates(snapshot, hash);
  const versions = others.slice(0, searchLimits.versions).map((other) => other.url);
  return { url, title, score, rank, duplicates, versions, contents };
}

/**
 * The text of a page is not stored, but read from the page's contents, and kept in memory. The
 * stored hash is that of the contents that were last indexed, so it does not name the text.
 */
function textOf({ cache }: SearchView, contents: Uint8Array | undefined, url: string): string {
  if (contents === undefined) return "";
  const { contentType, body } = unpackContents(contents);
  const key = `${contentHash(body)} ${contentType}`;
  const known = cache.texts.get(key);
  if (known !== undefined) return known;
  const value = compatible(bodyText(body, contentType, url));
  cache.keepText(key, value);
  return value;
}

async function countDuplicates(view: Snapshot, hash: string): Promise<number> {
  let members = 0;
  for await (const _ of view.entries(clusters.members, hash, { limit: searchLimits.duplicates + 1 }))
    members++;
  return Math.max(0, members - 1);
}
