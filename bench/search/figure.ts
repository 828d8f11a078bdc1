import { barChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { duration, percent, ratio, right, short, table, verdict, whole } from "../harness/words.js";

/** Times of searches in milliseconds, and how many were answered a second. */
export interface SearchTimes {
  readonly p50: number;
  readonly p95: number;
  /** With this many searches at a time: searches a second. */
  readonly perSecond: number;
  /** Processor time of a search in milliseconds, in sequence, with that of the server. */
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
  /** The load and the searches in one process. */
  readonly loading: LoadingTimes;
  /** The same in two processes. Older results do not have it. */
  readonly apart?: LoadingTimes | undefined;
}

/**
 * PostgreSQL does not index the end of a long page. So some queries, but no more than this share of them,
 * may find less than `leastFound` of the pages.
 */
const maxFewerShare = 0.05;
const leastFound = 0.9;

/** A query for which an engine found fewer pages than minisearch. */
interface TooFew {
  /** Its place among the queries, from 1. */
  readonly query: number;
  readonly engine: string;
  readonly total: number;
  readonly minisearch: number;
}

/**
 * Returns the queries for which the index found fewer pages than minisearch, which has the same words of
 * text and title, and no anchors. Adds those for which PostgreSQL found too few, if they are many.
 */
export function tooFewOf({ percolator, minisearch, postgres }: SearchBenchResult): readonly TooFew[] {
  const fewerThan = (share: number, engine: string, { totals }: SearchTimes): TooFew[] =>
    minisearch.totals.flatMap((wanted, at) => {
      const total = totals[at]!;
      return total < share * wanted ? [{ query: at + 1, engine, total, minisearch: wanted }] : [];
    });
  const ours = fewerThan(1, "web index", percolator);
  const others = fewerThan(leastFound, "PostgreSQL", postgres);
  return others.length > maxFewerShare * minisearch.totals.length ? [...ours, ...others] : ours;
}

export const search: Figure = {
  name: "search",
  about: "searches of the web index, alone and while a crawl loads, beside minisearch and PostgreSQL",
  measurements: [
    {
      name: "lmdb",
      script: "search",
      archives: "all",
      args: { small: ["--pages", "300", "--queries", "100"], full: [] },
      minutes: { small: 5, full: 30 },
    },
  ],
  draw(results) {
    const found = results.get<SearchBenchResult>("lmdb")!;
    return { tables: describeSearch(found), plots: [plot(found)] };
  },
};

/** The bounds were set for 20,000 pages. Times are in milliseconds. */
const bounds = { p50: 5, p95: 20, perSecond: 300, rateKept: 0.9 };
/** While a crawl loads, a search may take so many times as long. */
const slowdown = 2;

export function describeSearch(result: SearchBenchResult): readonly string[] {
  const { pages, atOnce, percolator, minisearch, postgres } = result;
  const row = (
    name: string,
    { p50, p95, cpuMs, perSecond }: SearchTimes,
    verdicts: readonly string[] = [],
  ) => [name, ...[p50, p95, cpuMs].map(duration), whole(perSecond), verdicts.join("; ")];
  return [
    `${whole(pages)} pages, ${whole(percolator.totals.length)} queries.`,
    table(
      ["", ...["p50", "p95", "CPU time", `searches/s, ${atOnce} at a time`].map(right), "wanted"],
      [
        row("web index", percolator, [
          verdict(percolator.p50 <= bounds.p50, `p50 at most ${bounds.p50} ms`),
          verdict(percolator.p95 <= bounds.p95, `p95 at most ${bounds.p95} ms`),
          verdict(percolator.perSecond >= bounds.perSecond, `at least ${bounds.perSecond}/s`),
        ]),
        row("minisearch, in memory, no snippets", minisearch),
        row("PostgreSQL, `tsvector` with GIN", postgres),
      ],
    ),
    loadingTable("while a crawl loads", percolator, result.loading),
    ...(result.apart === undefined
      ? []
      : [loadingTable("while a crawl loads in another process", percolator, result.apart)]),
    ...tooFewTable(tooFewOf(result)),
  ];
}

/** The most queries that are shown. */
const mostShown = 10;

function tooFewTable(found: readonly TooFew[]): readonly string[] {
  if (found.length === 0) return [];
  const rows = found
    .slice(0, mostShown)
    .map(({ query, engine, total, minisearch }) => [whole(query), engine, whole(total), whole(minisearch)]);
  const title = `too few pages found (${Math.min(found.length, mostShown)} of ${whole(found.length)}), query`;
  return [table([right(title), "engine", right("found"), right("by minisearch")], rows)];
}

function plot({ percolator, minisearch, postgres, loading, apart }: SearchBenchResult): Plot {
  const alt = "Milliseconds of a search";
  const group = (name: string, times: Pick<SearchTimes, "p50" | "p95">) => ({
    name,
    bars: [times.p50, times.p95].map((ms) => ({ value: ms, text: duration(ms) })),
  });
  const svg = barChart({
    title: alt,
    description:
      "The median and the 95th percentile of searches in milliseconds: the web index alone, while a crawl loads in the same process and in another, minisearch, and PostgreSQL. The axis is logarithmic.",
    axis: "ms",
    kind: "log",
    series: ["p50", "p95"],
    groups: [
      group("web index", percolator),
      group("web index while a crawl loads", loading),
      ...(apart === undefined ? [] : [group("web index while another process loads", apart)]),
      group("minisearch, in memory", minisearch),
      group("PostgreSQL", postgres),
    ],
  });
  return { name: "search", alt, svg };
}

function loadingTable(title: string, percolator: SearchTimes, loading: LoadingTimes): string {
  const slower = (which: "p50" | "p95") => {
    const most = slowdown * bounds[which];
    return [ratio(loading[which] / percolator[which]), verdict(loading[which] <= most, `at most ${most} ms`)];
  };
  const kept = loading.searchedRate / loading.aloneRate;
  return table(
    [title, right("alone"), right("both"), right("both, divided by alone"), "wanted"],
    [
      [
        `p50 of ${whole(loading.searches)} searches`,
        duration(percolator.p50),
        duration(loading.p50),
        ...slower("p50"),
      ],
      ["p95 of these searches", duration(percolator.p95), duration(loading.p95), ...slower("p95")],
      [
        "pages/s of the load",
        short(loading.aloneRate),
        short(loading.searchedRate),
        ratio(kept),
        verdict(kept >= bounds.rateKept, `at least ${percent(bounds.rateKept)}`),
      ],
    ],
  );
}
