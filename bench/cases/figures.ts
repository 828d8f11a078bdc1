import { type BarGroup, barChart, lineChart } from "../figures/chart.js";
import type { Drawing, Figure, FigureResults, Measurement } from "../figures/figure.js";
import { timeText } from "../figures/scale.js";
import type { Comparison } from "../harness/compare.js";
import { range, ratio, right, type Spread, short, table, verdict, whole } from "../harness/words.js";
import type { BenchResult, CaseFigure } from "./bench.js";
import { cellTables, floorOf } from "./floors.js";

/** The figures drawn from cases of `npm run bench`. */

type Compared = Pick<Comparison, "name" | "raw" | "ours" | "ratio" | "processorRatio" | "ourCpuUs" | "floor">;

export function comparisonsOf(results: FigureResults, measurement: string): readonly Compared[] {
  const { cases = {} } = results.get<BenchResult>(measurement) ?? {};
  return Object.values(cases).flatMap((each) => ("error" in each ? [] : each.comparisons.map(judged)));
}

/** The floor of a comparison may have changed since it was measured. */
function judged(each: Comparison): Compared {
  return { ...each, floor: floorOf(each.name) ?? each.floor };
}

export function figuresOf(results: FigureResults, measurement: string): readonly CaseFigure[] {
  const { cases = {} } = results.get<BenchResult>(measurement) ?? {};
  return Object.values(cases).flatMap((each) => ("error" in each ? [] : each.figures));
}

/** The servers that were measured, with their settings. */
export function configurationsOf(results: FigureResults, measurement: string): readonly string[] {
  const { cases = {} } = results.get<BenchResult>(measurement) ?? {};
  return Object.values(cases).flatMap((each) => ("error" in each ? [] : (each.configuration ?? [])));
}

/** Cases of `npm run bench`, with `--quick` at small size. */
export function benchCases(
  name: string,
  cases: readonly string[],
  minutes: Measurement["minutes"],
): Measurement {
  const only = cases.flatMap((each) => ["--only", each]);
  return { name, script: "bench", args: { small: ["--quick", ...only], full: only }, minutes };
}

export function comparisonTable(comparisons: readonly Compared[]): string {
  return table(
    [
      "",
      right("raw, a second"),
      right("percolatordb, a second"),
      right("ratio"),
      "quartiles",
      "floor",
      right("ratio by processor time"),
    ],
    comparisons.map(({ name, raw, ours, ratio: of, processorRatio, floor }) => [
      name,
      whole(raw.median),
      whole(ours.median),
      ratio(of.median),
      range(of, ratio),
      floor === undefined ? "" : verdict(of.median >= floor, ratio(floor)),
      ratio(processorRatio.median),
    ]),
  );
}

export function figureTable(figures: readonly CaseFigure[]): string {
  return table(
    ["", right("median"), "", "quartiles", "at most"],
    figures.map(({ name, value, unit, spread, ceiling }) => [
      name,
      short(value),
      unit,
      spread === undefined ? "" : range(spread, short),
      ceiling === undefined ? "" : verdict(value <= ceiling, short(ceiling)),
    ]),
  );
}

const barOf = (value: number, spread: Spread | undefined, text: string) => ({
  value,
  low: spread?.low,
  high: spread?.high,
  text,
});

/** The paper's table in figure 8: Percolator compared with Bigtable used directly. */
const paper = [
  { name: "reads of one cell, the paper", value: 0.94 },
  { name: "writes of one cell, the paper", value: 0.23 },
];

export const overhead: Figure = {
  name: "overhead",
  about: "reads, scans and transactions beside the raw store: LMDB, and Bigtable's emulator (figure 8)",
  measurements: [
    benchCases("lmdb", ["reads", "scans", "transactions"], { small: 8, full: 60 }),
    benchCases("bigtable", ["bigtable"], { small: 4, full: 30 }),
  ],
  draw(results): Drawing {
    const [lmdb, bigtable] = [comparisonsOf(results, "lmdb"), comparisonsOf(results, "bigtable")];
    const tables = [
      ...(lmdb.length === 0 ? [] : [`On LMDB:\n\n${comparisonTable(lmdb)}`, ...cellTables(lmdb)]),
      ...(bigtable.length === 0 ? [] : [`On Bigtable's emulator:\n\n${comparisonTable(bigtable)}`]),
    ];
    return { tables, plots: [ratioPlot(lmdb, bigtable), ...batchingPlot(lmdb)] };
  },
};

function ratioPlot(lmdb: readonly Compared[], bigtable: readonly Compared[]) {
  const shown = ({ name, ratio: of, floor }: Compared, store: string): BarGroup => ({
    name: `${name}${store}`,
    bars: [barOf(of.median, of, ratio(of.median))],
    bound: floor,
  });
  // Leaves out ready keys, which no real program has, and old versions, which the table shows.
  const main = lmdb.filter(({ name }) => !/ready keys|older versions/.test(name));
  const alt = "Speed as a share of the raw store's";
  const svg = barChart({
    title: alt,
    description:
      "Reads, scans and transactions through percolatordb, each divided by the rate of the same work done on the store directly, in the same run. 1 means no overhead.",
    axis: "of the raw store's rate",
    series: ["percolatordb", "the paper"],
    groups: [
      ...main.map((each) => shown(each, "")),
      ...bigtable.map((each) => shown(each, ", Bigtable")),
      ...paper.map(
        ({ name, value }): BarGroup => ({ name, bars: [undefined, { value, text: ratio(value) }] }),
      ),
    ],
    boundName: "floor",
  });
  return { name: "overhead", alt, svg };
}

/**
 * Draws the rates of single transactions, each with its own flush, and of 1,000 concurrent
 * transactions, which share flushes.
 */
function batchingPlot(lmdb: readonly Compared[]) {
  const transactions = lmdb.filter(({ name }) => name.startsWith("transactions"));
  if (transactions.length === 0) return [];
  const alt = "Transactions a second, one and 1,000 in flight";
  const svg = barChart({
    title: alt,
    description:
      "Transactions a second on LMDB, compared with puts of the new entries alone. One transaction in flight has a flush of its own; 1,000 in flight share flushes. The axis is logarithmic.",
    axis: "a second",
    kind: "log",
    series: ["percolatordb", "LMDB, puts of the new entries alone"],
    groups: transactions.map(({ name, ours, raw }) => ({
      name: name.replace("transactions of ", ""),
      bars: [ours, raw].map(({ median }) => ({ value: median, text: whole(median) })),
    })),
  });
  return [{ name: "batching", alt, svg }];
}

/** Draws figures in milliseconds, each with the largest that is wanted. */
function timesDrawing(
  name: string,
  figures: readonly CaseFigure[],
  chart: { readonly title: string; readonly description: string; readonly axis: string },
  shown: (name: string) => string,
): Drawing {
  const svg = barChart({
    ...chart,
    series: ["median"],
    groups: figures.map(({ name: of, value, spread, ceiling }) => ({
      name: shown(of),
      bars: [barOf(value, spread, `${value.toFixed(2)} ms`)],
      bound: ceiling,
    })),
    boundName: "the largest wanted",
  });
  return { tables: [figureTable(figures)], plots: [{ name, alt: chart.title, svg }] };
}

export const delay: Figure = {
  name: "delay",
  about: "from a commit to its observer's commit on an idle database",
  measurements: [benchCases("lmdb", ["delay"], { small: 2, full: 5 })],
  draw(results): Drawing {
    const chart = {
      title: "From a commit to its observer's commit",
      description:
        "Milliseconds on an idle database, compared with two flushed puts to LMDB, one after the other: the least that two commits can take.",
      axis: "ms",
    };
    return timesDrawing("delay", figuresOf(results, "lmdb"), chart, (name) =>
      name
        .replace(/^.*, beyond two flushed puts$/, "beyond the two puts")
        .replace(/, one after the other$/, ""),
    );
  },
};

export const importing: Figure = {
  name: "import",
  about: "CPU time to import the package and to print help, beyond that of a bare Node process",
  measurements: [benchCases("package", ["import"], { small: 3, full: 5 })],
  draw(results): Drawing {
    const chart = {
      title: "CPU time to import the package and to print help",
      description:
        "Milliseconds of CPU time of a bare Node process, and what importing the built package, opening a database in memory and printing the command line's help add to it.",
      axis: "ms of CPU time",
    };
    return timesDrawing("import", figuresOf(results, "package"), chart, (name) => name);
  },
};

export const notifications: Figure = {
  name: "notifications",
  about: "to find 10 dirty cells among 10 thousand, 1 million and 10 million",
  measurements: [
    {
      ...benchCases("lmdb", ["notifications"], { small: 6, full: 60 }),
      // Small does not mean `--quick` here, because the figure is about the number of cells.
      args: { small: ["--only", "notifications"], full: ["--only", "notifications", "--cells", "10000000"] },
    },
  ],
  draw(results): Drawing {
    const figures = figuresOf(results, "lmdb");
    const points = (what: string) =>
      figures.flatMap(({ name, value, spread }) => {
        const among = /among ([\d,]+)$/.exec(name)?.[1];
        if (!name.includes(what) || among === undefined) return [];
        return [{ x: Number(among.replaceAll(",", "")), y: value, low: spread?.low, high: spread?.high }];
      });
    const alt = "Time to find and handle ten dirty cells, by the number of cells";
    const svg = lineChart({
      title: alt,
      description:
        "Milliseconds that a worker takes to find ten changed cells and to handle them, against the number of cells that are observed, compared with the time to scan every cell. Both axes are logarithmic.",
      across: { name: "observed cells", kind: "log" },
      up: { name: "time", kind: "log", show: timeText },
      lines: [
        { name: "found and handled", points: points("found and handled") },
        { name: "every cell scanned", points: points("every cell scanned") },
      ],
    });
    return { tables: [figureTable(figures)], plots: [{ name: "notifications", alt, svg }] };
  },
};

export const oracle: Figure = {
  name: "oracle",
  about: "timestamps a second from one coordinator to waiting callers in other processes",
  measurements: [benchCases("coordinator", ["oracle"], { small: 3, full: 10 })],
  draw(results): Drawing {
    const figures = figuresOf(results, "coordinator");
    const rates = figures.filter(({ unit }) => unit === "timestamps/s");
    const alt = "Timestamps a second from one coordinator";
    const svg = barChart({
      title: alt,
      description:
        "Timestamps delivered each second over loopback to callers in one, two and four client processes, and to one process whose requests ask for at most 1, 10, 100 or 1,000 timestamps. The axis is logarithmic.",
      axis: "timestamps a second",
      kind: "log",
      series: ["rate"],
      groups: rates.map(({ name, value, spread }) => ({
        name: name.replace("timestamps to ", ""),
        bars: [barOf(value, spread, whole(value))],
      })),
    });
    return { tables: [figureTable(figures)], plots: [{ name: "oracle", alt, svg }] };
  },
};

/** The ways of counting in `wire.ts`, and their names on the page. */
const ways = {
  "all, before": "one request for each step",
  "all, fetched ahead and joined": "prefetched and joined",
  "all, gathered by the store too": "also gathered by the store",
};

export const documents: Figure = {
  name: "documents",
  about: "requests to a distant store for each document of the web index, with and without gathering",
  measurements: [benchCases("wire", ["wire"], { small: 4, full: 20 })],
  draw(results): Drawing {
    const figures = figuresOf(results, "wire");
    const crawls = [...new Set(figures.flatMap(({ name }) => /^(.*), documents$/.exec(name)?.[1] ?? []))];
    const find = (name: string) => figures.find((figure) => figure.name === name);
    const value = (name: string) => find(name)?.value ?? Number.NaN;
    const alt = "Requests to a distant store for each document";
    const svg = barChart({
      title: alt,
      description:
        "Requests that the web index sends for each document that was loaded: with one request for each step of the protocol, with columns prefetched and mutations of one row joined, and with concurrent requests also gathered by the store.",
      axis: "requests a document",
      series: Object.values(ways),
      groups: crawls.map((crawl) => ({
        name: crawl,
        bars: Object.keys(ways).map((what) =>
          barOf(value(`${crawl}, ${what}`), undefined, short(value(`${crawl}, ${what}`))),
        ),
      })),
    });
    const sums = crawls.map((crawl) => {
      const { value: sent, ceiling } = find(`${crawl}, all, gathered by the store too`)!;
      return [
        crawl,
        whole(value(`${crawl}, documents`)),
        ...Object.keys(ways).map((what) => short(value(`${crawl}, ${what}`))),
        ceiling === undefined ? "" : verdict(sent <= ceiling, short(ceiling)),
        ratio(value(`${crawl}, share that is sent`)),
      ];
    });
    const kinds = [...new Set(figures.flatMap(({ name }) => /, (.*[^,]) before$/.exec(name)?.[1] ?? []))];
    const byKind = crawls.map((crawl) => [
      crawl,
      ...kinds.map(
        (kind) => `${short(value(`${crawl}, ${kind} before`))} → ${short(value(`${crawl}, ${kind} sent`))}`,
      ),
    ]);
    const columns = [
      "",
      right("documents"),
      ...Object.values(ways).map(right),
      "at most",
      right("last, divided by first"),
    ];
    return {
      tables: [
        table(columns, sums),
        `Requests per document by kind: one for each step → as sent:\n\n${table(["", ...kinds.map(right)], byKind)}`,
      ],
      plots: [{ name: "documents", alt, svg }],
    };
  },
};
