import { type Line, lineChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { timeText } from "../figures/scale.js";
import { duration, right, short, table, verdict, whole } from "../harness/words.js";

/** What became of documents that came at a rate. */
export interface RateFigure {
  /** Of the repository, in an hour. */
  readonly percent: number;
  readonly perSecond: number;
  readonly loaded: number;
  /** Not clustered when the last one had been loaded. */
  readonly late: number;
  /** Milliseconds from when a document was due to be loaded to the commit of its clustering. */
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
}

/** Where the batch reads the documents and writes the clusters. */
export type BatchPlace = "same database" | "bare LMDB";

/** A batch over all documents, and the crawls whose hour is three times as long. */
export interface BatchFigure {
  readonly place: BatchPlace;
  /** Milliseconds of one batch: the median, and each. */
  readonly batchMs: number;
  readonly batchRunsMs: readonly number[];
  readonly hourSeconds: number;
  readonly rates: readonly RateFigure[];
  /**
   * Percent an hour at which a document waits as long as it would for the batch; undefined if it
   * never did.
   */
  readonly crossover?: number | undefined;
}

/** One repository. */
export interface Clustered {
  readonly documents: number;
  /**
   * Documents a second when all came at once: loaded 200 a transaction, clustered each by a run of
   * its own.
   */
  readonly fillPerSecond: number;
  /**
   * What LMDB itself allows: documents a second that are clustered again by its gets and flushed
   * puts alone.
   */
  readonly barePerSecond: number;
  readonly batches: readonly BatchFigure[];
  /**
   * Documents that are not as they were loaded last, and clusters that are not what the batch makes
   * of them.
   */
  readonly wrong: number;
}

/**
 * The crossover that is wanted, in percent an hour; and how many times sooner, in the largest
 * repository at one percent an hour.
 */
const floors = { crossover: 40, sooner: 1_000, documents: 1_000_000, percent: 1 } as const;

/** The floors count where readers see the batch's clusters as they see those of the observer. */
const comparable: BatchPlace = "same database";

const places: Readonly<Record<BatchPlace, { readonly shown: string; readonly plot: string }>> = {
  "same database": { shown: "in the same database", plot: "clustering" },
  "bare LMDB": { shown: "in an LMDB of its own", plot: "clustering-bare" },
};

const upTo = (documents: number) => [
  "--documents",
  [10_000, 100_000, 1_000_000].filter((each) => each <= documents).join(),
];
const smallRates = ["--rates", "0.1,1,10,20,40,60", "--seconds", "5"];
const fullRates = ["--rates", "0.1,1,10,20,40,60,100", "--seconds", "10"];

export const clustering: Figure = {
  name: "clustering",
  about: "clustering as documents come, beside batches over all of them (figure 7)",
  measurements: [
    {
      name: "lmdb",
      script: "clustering",
      args: {
        small: [...upTo(100_000), ...smallRates, "--batch", "same"],
        full: [...upTo(1_000_000), ...fullRates, "--batch", "same"],
      },
      minutes: { small: 10, full: 120 },
    },
    {
      name: "bare",
      script: "clustering",
      args: {
        small: [...upTo(100_000), ...smallRates, "--batch", "bare"],
        full: [...upTo(100_000), ...fullRates, "--batch", "bare"],
      },
      minutes: { small: 10, full: 60 },
    },
  ],
  draw(results) {
    const all = ["lmdb", "bare"].flatMap((name) => results.get<Clustered[]>(name) ?? []);
    const found = new Set(all.flatMap(({ batches }) => batches.map(({ place }) => place)));
    return { tables: clusteringTables(all), plots: [...found].map((place) => plot(all, place)) };
  },
};

export function clusteringTables(all: readonly Clustered[]): readonly string[] {
  return [summaryTable(all), rateTable(all)];
}

/**
 * A document comes at any time while a batch runs, and waits for its end and for the whole of the
 * next.
 */
export const batchDelay = (batchMs: number, part: number): number => batchMs * (1 + part);

/** Where the medians cross, on a straight line between the two rates around it. */
export function crossoverOf({ rates, batchMs }: Pick<BatchFigure, "rates" | "batchMs">): number | undefined {
  const batch = batchDelay(batchMs, 0.5);
  const above = rates.findIndex(({ p50 }) => p50 > batch);
  if (above < 0) return undefined;
  const [low, high] = [rates[above - 1], rates[above]!];
  if (low === undefined) return high.percent;
  return low.percent + ((batch - low.p50) / (high.p50 - low.p50)) * (high.percent - low.percent);
}

interface Sized extends BatchFigure {
  readonly documents: number;
}

function plot(all: readonly Clustered[], place: BatchPlace): Plot {
  const batches = all.flatMap(({ documents, batches: some }) =>
    some.filter((batch) => batch.place === place).map((batch): Sized => ({ ...batch, documents })),
  );
  const { shown, plot: name } = places[place];
  const title = `Delay until a document is clustered, beside batches ${shown}`;
  const events = batches.flatMap(({ crossover, documents }) =>
    crossover === undefined
      ? []
      : [{ x: crossover, name: `${whole(documents)}: as slow as batches at ${whole(crossover)} %` }],
  );
  const svg = lineChart({
    title,
    description:
      "Median delay from when a document is due to be loaded to the commit of its clustering, with a band from the 5th to the 95th percentile, against the percentage of the repository that is crawled in an hour; dashed, what a document waits for where all are clustered in batches. Both axes are logarithmic.",
    across: { name: "of the repository crawled in an hour", kind: "log", show: (value) => `${value} %` },
    up: { name: "delay", kind: "log", show: timeText },
    lines: batches.flatMap(linesOf),
    events,
    height: 460,
  });
  return { name, alt: title, svg };
}

function linesOf({ documents, batchMs, rates: all }: Sized, series: number): readonly Line[] {
  const percents = all.map(({ percent }) => percent);
  const y = batchDelay(batchMs, 0.5);
  return [
    {
      name: `${whole(documents)} documents, as they come`,
      series,
      points: all.map(({ percent, p5, p50, p95 }) => ({ x: percent, y: p50, low: p5, high: p95 })),
    },
    {
      name: `${whole(documents)}, in batches`,
      series,
      dashed: true,
      points: [Math.min(...percents), Math.max(...percents)].map((x) => ({ x, y })),
    },
  ];
}

/**
 * The share of an hour's documents that may be clustered after the hour while the queue does not
 * grow.
 */
const fewLate = 0.02;

/** The highest rate up to which the queue does not grow, hour after hour. */
function keepsUpTo(rates: readonly RateFigure[]): string {
  const growing = rates.findIndex(({ late, loaded }) => late > Math.max(1, fewLate * loaded));
  const kept = growing === -1 ? rates.at(-1) : rates[growing - 1];
  return kept === undefined ? "" : `${kept.percent} %`;
}

function summaryTable(repositories: readonly Clustered[]): string {
  const columns = [
    right("documents"),
    "batches",
    right("one batch"),
    right("an hour"),
    right("delay in batches: p5, p50, p95"),
  ];
  return table(
    [
      ...columns,
      right("crossover"),
      "floor",
      right("keeps up to"),
      right("all at once, documents/s"),
      right("again, by LMDB alone"),
      right("wrong"),
    ],
    repositories.flatMap(({ documents, fillPerSecond, barePerSecond, batches, wrong }) =>
      batches.map(({ place, batchMs, hourSeconds, crossover, rates }) => [
        whole(documents),
        places[place].shown,
        duration(batchMs),
        `${short(hourSeconds)} s`,
        [0.05, 0.5, 0.95].map((part) => duration(batchDelay(batchMs, part))).join(", "),
        crossover === undefined ? "above all" : `${whole(crossover)} %`,
        place === comparable
          ? verdict((crossover ?? Number.POSITIVE_INFINITY) > floors.crossover, `above ${floors.crossover} %`)
          : "",
        keepsUpTo(rates),
        whole(fillPerSecond),
        whole(barePerSecond),
        whole(wrong),
      ]),
    ),
  );
}

function rateTable(repositories: readonly Clustered[]): string {
  const columns = [
    right("documents"),
    "batches",
    right("an hour"),
    right("documents/s"),
    right("p5"),
    right("p50"),
    right("p95"),
  ];
  return table(
    [...columns, right("sooner than batches"), "floor", right("clustered after the last came")],
    repositories.flatMap(({ documents, batches }) =>
      batches.flatMap(({ place, batchMs, rates: all }) =>
        all.map(({ percent, perSecond, p5, p50, p95, late, loaded }) => [
          whole(documents),
          places[place].shown,
          `${percent} %`,
          short(perSecond),
          ...[p5, p50, p95].map(duration),
          `${short(batchDelay(batchMs, 0.5) / p50)} times`,
          place === comparable && documents === floors.documents && percent === floors.percent
            ? verdict(batchDelay(batchMs, 0.5) / p50 >= floors.sooner, `${whole(floors.sooner)} times`)
            : "",
          late === 0 ? "0" : `${whole(late)} of ${whole(loaded)}`,
        ]),
      ),
    ),
  );
}
