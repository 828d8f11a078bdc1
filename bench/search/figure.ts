import { right, short, table, whole } from "../harness/words.js";

/** Times of searches in milliseconds, and how many were answered a second. */
export interface SearchTimes {
  readonly p50: number;
  readonly p95: number;
  /** With this many searches at a time: searches a second. */
  readonly perSecond: number;
  /** Processor time of a search in milliseconds, in sequence. */
  readonly cpuMs: number;
  /** How many pages each query found. */
  readonly totals: readonly number[];
}

/** Searches while a crawl loads, and what they cost the load. */
export interface LoadingTimes {
  readonly p50: number;
  readonly p95: number;
  readonly searches: number;
  /** Pages a second of the load without searches, and with them. */
  readonly aloneRate: number;
  readonly searchedRate: number;
}

export interface SearchBenchResult {
  readonly pages: number;
  readonly atOnce: number;
  readonly percolator: SearchTimes;
  readonly minisearch: SearchTimes;
  readonly postgres: SearchTimes;
  readonly loading: LoadingTimes;
}

/**
 * Counts the queries for which the index found fewer pages than minisearch, which has the same
 * words of text and title, and no anchors.
 */
export function wrongOf({ percolator, minisearch }: SearchBenchResult): number {
  return minisearch.totals.filter((total, at) => percolator.totals[at]! < total).length;
}

export function describeSearch(result: SearchBenchResult): readonly string[] {
  const { pages, atOnce, percolator, minisearch, postgres, loading } = result;
  const row = (name: string, { p50, p95, cpuMs, perSecond }: SearchTimes) => [
    name,
    short(p50),
    short(p95),
    short(cpuMs),
    whole(perSecond),
  ];
  return [
    `${whole(pages)} pages, ${whole(percolator.totals.length)} queries`,
    table(
      ["", right("p50, ms"), right("p95, ms"), right("CPU, ms"), right(`searches/s, ${atOnce} at a time`)],
      [
        row("web index", percolator),
        row("minisearch, in memory, no snippets", minisearch),
        row("PostgreSQL, tsvector with GIN", postgres),
      ],
    ),
    `While a crawl loads: ${whole(loading.searches)} searches, p50 ${short(loading.p50)} ms, p95 ${short(loading.p95)} ms; ` +
      `${short(loading.aloneRate)} pages/s without them, ${short(loading.searchedRate)} pages/s with them`,
  ];
}
