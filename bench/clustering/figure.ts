import { type Line, lineChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { timeText } from "../figures/scale.js";
import { duration, right, short, table, verdict, whole } from "../harness/words.js";

/** The results for documents that arrive at one rate. */
export interface RateFigure {
  /** Percent of the repository in an hour. */
  readonly percent: number;
  readonly perSecond: number;
  readonly loaded: number;
  /** Documents not clustered when the last one was loaded. */
  readonly late: number;
  /** Milliseconds from the time a document was due to the commit of its clustering. */
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
}

/** The place from which the batch reads documents and to which it writes clusters. */
export type BatchPlace = "same database" | "bare LMDB";

/** A batch over all documents, and the crawls compared with it. An "hour" is three batches long. */
export interface BatchFigure {
  readonly place: BatchPlace;
  /** The milliseconds of one batch: the median, and those of each batch. */
  readonly batchMs: number;
  readonly batchRunsMs: readonly number[];
  readonly hourSeconds: number;
  readonly rates: readonly RateFigure[];
  /**
   * The rate, in percent an hour, at which the median delay equals that of the batch. Undefined if
   * the median delay is at most that of the batch at every measured rate.
   */
  readonly crossover?: number | undefined;
}

/** The results of one repository. */
export interface Clustered {
  readonly documents: number;
  /**
   * Documents a second if all arrive at once. They are loaded 200 in a transaction, and each is
   * clustered by a separate run.
   */
  readonly fillPerSecond: number;
  /**
   * The limit of LMDB itself: how many documents a second can be clustered again with only LMDB's
   * gets and flushed puts.
   */
  readonly barePerSecond: number;
  readonly batches: readonly BatchFigure[];
  /** Documents that differ from their last load, and clusters that differ from the batch's. */
  readonly wrong: number;
}

/**
 * The floors. The crossover must be above `crossover` percent an hour. In the same database, the
 * observer must keep up with `keptUp` percent an hour for ever. If `percent` percent of
 * `documents` documents are crawled in an hour, the batch's median delay must be at least `sooner`
 * times the observer's.
 */
const floors = { crossover: 40, keptUp: 40, sooner: 1_000, documents: 1_000_000, percent: 1 } as const;

/** Only there, readers see the batch's clusters in the same way as the observer's. */
const comparable: BatchPlace = "same database";

const places: Readonly<Record<BatchPlace, { readonly shown: string; readonly plot: string }>> = {
  "same database": { shown: "in the same database", plot: "clustering" },
  "bare LMDB": { shown: "in an LMDB of its own", plot: "clustering-bare" },
};

const small = ["--documents", "10000,30000", "--rates", "1,10,40", "--seconds", "3"];
const fullRates = ["--rates", "0.1,1,10,20,40,60,100", "--seconds", "10"];

export const clustering: Figure = {
  name: "clustering",
  about: "clustering as documents come, beside batches over all of them (figure 7)",
  measurements: [
    {
      name: "lmdb",
      script: "clustering",
      args: {
        small: [...small, "--batch", "same"],
        full: ["--documents", "10000,100000,1000000", ...fullRates, "--batch", "same"],
      },
      minutes: { small: 10, full: 120 },
    },
    {
      name: "bare",
      script: "clustering",
      args: {
        small: [...small, "--batch", "bare"],
        full: ["--documents", "10000,100000", ...fullRates, "--batch", "bare"],
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
 * The delay of a document that arrives when `part` of a batch is still to run: the rest of that
 * batch, and the whole next one.
 */
export const batchDelay = (batchMs: number, part: number): number => batchMs * (1 + part);

/**
 * Returns the rate at which the observer's median delay reaches the batch's, interpolated linearly
 * between the two measured rates around it.
 */
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
  const title = `Delay until a document is clustered, compared with batches ${shown}`;
  const events = batches.flatMap(({ crossover, documents }) =>
    crossover === undefined
      ? []
      : [{ x: crossover, name: `${whole(documents)}: as slow as batches at ${whole(crossover)} %` }],
  );
  const svg = lineChart({
    title,
    description:
      "Median delay from when a document is due to be loaded to the commit of its clustering, with a band from the 5th to the 95th percentile, against the percentage of the repository that is crawled in an hour; dashed, the median delay if all documents are clustered in batches. Both axes are logarithmic.",
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
 * The queue counts as not growing if at most this share of an hour's documents is clustered only
 * after the hour.
 */
const fewLate = 0.02;

/** Returns the highest rate in percent up to which the queue does not grow from hour to hour. */
function keepsUpTo(rates: readonly RateFigure[]): number | undefined {
  const growing = rates.findIndex(({ late, loaded }) => late > Math.max(1, fewLate * loaded));
  const kept = growing === -1 ? rates.at(-1) : rates[growing - 1];
  return kept?.percent;
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
      "floor",
      right("first load, documents/s"),
      right("clustered again by LMDB alone, documents/s"),
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
        verdict((crossover ?? Number.POSITIVE_INFINITY) > floors.crossover, `above ${floors.crossover} %`),
        ...keptUpTo(place, rates),
        whole(fillPerSecond),
        whole(barePerSecond),
        whole(wrong),
      ]),
    ),
  );
}

/** Returns the highest rate without a growing queue, and whether it is high enough. */
function keptUpTo(
  place: BatchPlace,
  rates: readonly RateFigure[],
): readonly [shown: string, verdict: string] {
  const kept = keepsUpTo(rates);
  const shown = kept === undefined ? "" : `${kept} %`;
  if (place !== comparable) return [shown, ""];
  return [shown, verdict((kept ?? 0) >= floors.keptUp, `${floors.keptUp} %`)];
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
    [
      ...columns,
      right("p50 of batches, divided by this p50"),
      "floor",
      right("not yet clustered when the last was loaded"),
    ],
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
