import { barChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { ratio, right, short, table, verdict } from "../harness/words.js";
import { type Composition, totalOf } from "./composition.js";

/** One crawl, loaded into the index of those before it. */
export interface LoadedCrawl {
  readonly name: string;
  readonly pages: number;
  /** The bytes of the bodies that the crawl has. */
  readonly bodyBytes: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly transactions: number;
  /** The bytes of the pages that LMDB has written for it. */
  readonly written: number;
  /** The size of the folder's data file afterwards. */
  readonly bytes: number;
}

/** The sizes of copies of the folder that `compact` made, in bytes. */
export interface CompactedBytes {
  /** Of the folder after the last crawl, with the older versions that the retention keeps. */
  readonly now: number;
  /** Of the folder after collection has dropped them. */
  readonly collected: number;
  /** The bytes of the bodies that the index has after the last crawl. */
  readonly bodies: number;
  readonly seconds: number;
}

export interface DiskResult {
  readonly crawls: readonly LoadedCrawl[];
  /** The same crawls, loaded in turns into an index whose values are not compressed. Older results lack it. */
  readonly plain?: readonly LoadedCrawl[] | undefined;
  /** Older results do not have it. */
  readonly compacted?: CompactedBytes | undefined;
  readonly composition: Composition;
  readonly wrong: number;
  readonly problems: readonly string[];
  readonly shown: number;
}

export const disk: Figure = {
  name: "disk",
  about: "the bytes that a web index has on disk and that were written for it, divided by those of its pages",
  measurements: [
    {
      name: "lmdb",
      script: "disk",
      archives: "all",
      minArchives: 1,
      args: { small: [], full: [] },
      minutes: { small: 20, full: 60 },
    },
  ],
  draw(results) {
    const found = results.get<DiskResult>("lmdb")!;
    return { tables: describeDisk(found), plots: [plot(found)] };
  },
};

/** The most bytes that are written and that the folder has, divided by the bytes of the bodies. */
const bounds = { written: 8, folder: 1 };

function plot({ crawls }: DiskResult): Plot {
  const alt = "Bytes of the folder, divided by those of the pages";
  const bodies = crawls.map((_, at) =>
    crawls.slice(0, at + 1).reduce((sum, { bodyBytes }) => sum + bodyBytes, 0),
  );
  const svg = barChart({
    title: alt,
    description: "The bytes of the folder after each crawl, divided by those of all bodies so far.",
    axis: "times the bodies",
    series: ["folder"],
    groups: crawls.map(({ name, bytes }, at) => ({
      name,
      bars: [{ value: bytes / bodies[at]!, text: ratio(bytes / bodies[at]!) }],
      bound: bounds.folder,
    })),
    boundName: "at most",
  });
  return { name: "disk", alt, svg };
}

export function describeDisk(result: DiskResult): readonly string[] {
  const { crawls, plain, compacted, composition, problems, shown } = result;
  return [
    crawlTable(crawls),
    ...(plain === undefined ? [] : [compressionTable(crawls, plain)]),
    ...(compacted === undefined ? [] : [compactedTable(compacted)]),
    compositionTable(composition, shown),
    ...problems,
  ];
}

/** What compression costs in time, and what it saves in bytes. */
function compressionTable(crawls: readonly LoadedCrawl[], plain: readonly LoadedCrawl[]): string {
  const columns: readonly (readonly [name: string, of: (crawl: LoadedCrawl) => number])[] = [
    ["pages/s", ({ pages, seconds }) => pages / seconds],
    ["CPU ms a page", ({ pages, cpuSeconds }) => (1_000 * cpuSeconds) / pages],
    ["MB written", ({ written }) => written / 1e6],
    ["MB of the folder", ({ bytes }) => bytes / 1e6],
  ];
  const cellOf = (crawl: LoadedCrawl, other: LoadedCrawl, of: (crawl: LoadedCrawl) => number) =>
    `${short(of(crawl))}, ${short(of(other))} (${ratio(of(crawl) / of(other))})`;
  return table(
    ["compressed, and plain (and the ratio)", ...columns.map(([name]) => right(name))],
    crawls.map((crawl, at) => [crawl.name, ...columns.map(([, of]) => cellOf(crawl, plain[at]!, of))]),
  );
}

function compactedTable({ now, collected, bodies, seconds }: CompactedBytes): string {
  const line = (name: string, bytes: number) => [
    name,
    megabytes(bytes),
    ratio(bytes / bodies),
    verdict(bytes / bodies <= bounds.folder, `folder at most ${bounds.folder} times`),
  ];
  return table(
    [
      `copied by \`percolator compact\` (${short(seconds)} s)`,
      right("MB"),
      right("times the bodies that it has"),
      "wanted",
    ],
    [
      line("with the older versions that the retention of an hour keeps", now),
      line("after the retention, when `gc` has dropped them", collected),
    ],
  );
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function crawlTable(crawls: readonly LoadedCrawl[]): string {
  const columns = [
    "pages",
    "MB of bodies",
    "s",
    "CPU ms a page",
    "transactions",
    "MB written",
    "times the bodies",
  ];
  let bodies = 0;
  return table(
    ["", ...columns.map(right), right("MB of the folder"), right("times all bodies so far"), "wanted"],
    crawls.map(({ name, pages, bodyBytes, seconds, cpuSeconds: cpu, transactions, written, bytes }) => {
      bodies += bodyBytes;
      return [
        name,
        String(pages),
        megabytes(bodyBytes),
        short(seconds),
        short((1_000 * cpu) / pages),
        String(transactions),
        megabytes(written),
        ratio(written / bodyBytes),
        megabytes(bytes),
        ratio(bytes / bodies),
        [
          verdict(written / bodyBytes <= bounds.written, `written at most ${bounds.written} times`),
          verdict(bytes / bodies <= bounds.folder, `folder at most ${bounds.folder} times`),
        ].join("; "),
      ];
    }),
  );
}

function compositionTable({ bytes, columns, branches, room, free }: Composition, shown: number): string {
  const rest = columns.slice(shown).reduce((sum, column) => sum + totalOf(column), 0);
  const line = (name: string, sum: number) => [name, "", "", "", "", "", "", megabytes(sum)];
  return table(
    ["MB", ...["records", "keys", "values", "older", "overhead", "unfilled", "all"].map(right)],
    [
      ...columns
        .slice(0, shown)
        .map((column) => [
          column.name,
          String(column.records),
          ...[column.keys, column.values, column.older, column.overhead, column.unfilled].map(megabytes),
          megabytes(totalOf(column)),
        ]),
      line("other columns", rest),
      line("branch pages", branches),
      line("room in leaf pages", room),
      line("free pages", free),
      line("the file", bytes),
    ],
  );
}
