import { lineChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { timeText } from "../figures/scale.js";
import { percent, ratio, right, short, table, verdict, whole } from "../harness/words.js";

export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** The cost of updating an index to a crawl. */
export interface IndexCost extends Cost {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** Runs of observers that committed. */
  readonly runs: number;
  readonly commits: number;
  readonly cells: number;
  /** Cells that differ from the twin's, and other problems. */
  readonly wrong: number;
  readonly problems: readonly string[];
}

/** One crawl after the first. */
export interface Recrawl {
  readonly name: string;
  /** Pages that exist after it. */
  readonly pages: number;
  /** The index of the previous crawls, updated. */
  readonly update: IndexCost;
  /** The same crawl, by an index that had all pages but those that the crawl adds or changes. */
  readonly insert: IndexCost;
  /** Every page loaded into an empty database. */
  readonly load: IndexCost;
  /** Every page by the batch twin: plain functions, in memory. */
  readonly rebuild: Cost;
}

export interface RecrawlResult {
  readonly first: { readonly name: string; readonly pages: number; readonly load: IndexCost };
  readonly crawls: readonly Recrawl[];
}

/** A crawl with changed pages may cost at most this many times what it costs with as many new ones. */
const maxChanged = 1;

export const recrawl: Figure = {
  name: "recrawl",
  about: "the web index brought up to date with a crawl, beside a load of all of it and a rebuild in memory",
  measurements: [
    {
      name: "made",
      script: "recrawl",
      args: { small: ["--changes", "10,50", "--pages", "300"], full: ["--changes", "1,2,5,10,25,50,100"] },
      minutes: { small: 6, full: 60 },
    },
    {
      name: "archives",
      script: "recrawl",
      archives: "all",
      minArchives: 2,
      args: { small: [], full: [] },
      minutes: { small: 30, full: 60 },
    },
  ],
  draw(results) {
    const made = results.get<RecrawlResult>("made");
    const archived = results.get<RecrawlResult>("archives");
    return {
      tables: [
        ...(made === undefined ? [] : [costs(made), work(made)]),
        ...(archived === undefined
          ? []
          : ["Two archived crawls of a site:", costs(archived), work(archived)]),
      ],
      plots: made === undefined ? [] : [plot(made.crawls)],
    };
  },
};

export function describeRecrawl(result: RecrawlResult): readonly string[] {
  return [costs(result), work(result), ...indexesOf(result).flatMap(({ problems }) => problems)];
}

export function wrongOf(result: RecrawlResult): number {
  return indexesOf(result).reduce((sum, { wrong }) => sum + wrong, 0);
}

function indexesOf({ first, crawls }: RecrawlResult): readonly IndexCost[] {
  return [first.load, ...crawls.flatMap(({ update, insert, load }) => [update, insert, load])];
}

const changesOf = ({ added, changed, deleted }: IndexCost) => added + changed + deleted;

/** The share of the pages that a crawl changed. */
export function shareChanged({ pages, update }: Recrawl): number {
  return changesOf(update) / Math.max(1, pages + update.deleted);
}

/** The processor time of the update, divided by that of the same crawl if its changed pages are new. */
export function costOfChanged({ update, insert }: Recrawl): number {
  return update.cpuSeconds / insert.cpuSeconds;
}

/**
 * The processor time of the update for each page that it changed, divided by that of the load for
 * each page. So a changed page also pays for the look at those that did not change, and for the
 * start of the process.
 */
export function costBesideLoad({ pages, update, load }: Recrawl): number {
  return update.cpuSeconds / Math.max(1, changesOf(update)) / (load.cpuSeconds / Math.max(1, pages));
}

function costs({ first, crawls }: RecrawlResult): string {
  const show = (cost: Cost) => `${short(cost.seconds)} (${short(cost.cpuSeconds)})`;
  const rows = crawls.map((crawl) => [
    crawl.name,
    whole(crawl.pages),
    percent(shareChanged(crawl)),
    show(crawl.update),
    show(crawl.load),
    show(crawl.rebuild),
    ratio(crawl.update.seconds / crawl.load.seconds),
    ratio(crawl.update.seconds / crawl.rebuild.seconds),
    whole(crawl.update.wrong + crawl.insert.wrong + crawl.load.wrong),
  ]);
  rows.unshift([
    first.name,
    whole(first.pages),
    "",
    "",
    show(first.load),
    "",
    "",
    "",
    whole(first.load.wrong),
  ]);
  const columns = [
    "crawl",
    right("pages"),
    right("changed"),
    right("update, s (CPU s)"),
    right("load of all pages, s (CPU s)"),
  ];
  return table(
    [
      ...columns,
      right("rebuild in memory, s (CPU s)"),
      right("update / load"),
      right("update / rebuild"),
      right("wrong cells"),
    ],
    rows,
  );
}

/** The work of the observers for each page that changed. */
function work({ crawls }: RecrawlResult): string {
  const rows = crawls.map((crawl) => {
    const { added, changed, deleted, runs, commits } = crawl.update;
    const documents = Math.max(1, changesOf(crawl.update));
    const cost = costOfChanged(crawl);
    return [
      crawl.name,
      whole(added),
      whole(changed),
      whole(deleted),
      short(runs / documents),
      short(commits / documents),
      `${short(crawl.update.cpuSeconds)}, ${short(crawl.insert.cpuSeconds)}`,
      ratio(cost),
      verdict(cost <= maxChanged, `at most ${maxChanged}`),
      ratio(costBesideLoad(crawl)),
    ];
  });
  const columns = ["crawl", right("added"), right("changed"), right("deleted")];
  return table(
    [
      ...columns,
      right("runs per changed page"),
      right("commits per changed page"),
      right("CPU time of the crawl: pages changed, and the same pages new, s"),
      right("ratio"),
      "wanted",
      right("CPU time of a changed page, divided by that of a page of the load"),
    ],
    rows,
  );
}

function plot(crawls: readonly Recrawl[]): Plot {
  const points = (of: (crawl: Recrawl) => number) =>
    crawls
      .map((crawl) => ({ x: 100 * shareChanged(crawl), y: of(crawl) * 1_000 }))
      .filter(({ x }) => x > 0)
      .sort((a, b) => a.x - b.x);
  const title = "Time to index the next crawl, by the share of pages that changed";
  const svg = lineChart({
    title,
    description:
      "Time to update the web index to a crawl, against the percentage of the pages that changed. It is compared with the time to load the whole crawl into an empty database, and with the time to rebuild the index in memory with no database. Both axes are logarithmic.",
    across: { name: "of the pages changed", kind: "log", show: (value) => `${value} %` },
    up: { name: "time", kind: "log", show: timeText },
    lines: [
      { name: "update", points: points(({ update }) => update.seconds) },
      { name: "load of all pages", points: points(({ load }) => load.seconds) },
      { name: "rebuild in memory, no database", points: points(({ rebuild }) => rebuild.seconds) },
    ],
  });
  return { name: "recrawl", alt: title, svg };
}
