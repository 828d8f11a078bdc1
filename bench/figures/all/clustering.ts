import { z } from "zod";
import { type Line, lineChart } from "../chart/lines.js";
import { timeText } from "../chart/numbers.js";
import type { Drawing, Figure, Plot } from "../figure.js";
import { duration, right, short, table, verdict, whole } from "../words.js";

const rateSchema = z.object({
  percent: z.number(),
  perSecond: z.number(),
  loaded: z.number(),
  late: z.number(),
  p5: z.number(),
  p50: z.number(),
  p95: z.number(),
});

const batchSchema = z.object({
  place: z.string(),
  batchMs: z.number(),
  hourSeconds: z.number(),
  rates: z.array(rateSchema),
  crossover: z.number().nullish(),
});

const schema = z.array(
  z.object({
    documents: z.number(),
    fillPerSecond: z.number(),
    barePerSecond: z.number(),
    batches: z.array(batchSchema),
    wrong: z.number(),
  }),
);

type Repository = z.output<typeof schema>[number];
type Batch = z.output<typeof batchSchema>;

/** The crossover that is wanted, in percent an hour; and how many times sooner, in the largest repository at one percent an hour. */
const floors = { crossover: 40, sooner: 1_000, documents: 1_000_000, percent: 1 } as const;

/** Where a batch writes what readers see as they see the observer's clusters: there the floors count. */
const comparable = "same database";

/** Where the batch works, in the page's words, and the name of the plot. */
const places: Readonly<Record<string, { readonly shown: string; readonly plot: string }>> = {
  "same database": { shown: "in the same database", plot: "clustering" },
  "bare LMDB": { shown: "in an LMDB of its own", plot: "clustering-bare" },
};

const placeOf = (place: string) =>
  places[place] ?? { shown: place, plot: `clustering-${place.toLowerCase().replaceAll(/[^a-z]+/g, "-")}` };

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
  draw(results): Drawing {
    const repositories = [...(results.get("lmdb", schema) ?? []), ...(results.get("bare", schema) ?? [])];
    const found = [...new Set(repositories.flatMap(({ batches }) => batches.map(({ place }) => place)))];
    return {
      tables: [summary(repositories), rates(repositories)],
      plots: found.map((place) => plot(repositories, place)),
    };
  },
};

/** The least, the usual and the longest that a document waits for batches that follow each other: for the running one's end, and for the next. */
const batchDelay = (batchMs: number, part: number) => batchMs * (1 + part);

interface Sized extends Batch {
  readonly documents: number;
}

function plot(repositories: readonly Repository[], place: string): Plot {
  const batches = repositories.flatMap(({ documents, batches: all }) =>
    all.filter((batch) => batch.place === place).map((batch): Sized => ({ ...batch, documents })),
  );
  const { shown, plot: name } = placeOf(place);
  const title = `Delay until a document is clustered, beside batches ${shown}`;
  const events = batches.flatMap(({ crossover, documents }) =>
    crossover === undefined || crossover === null
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

/** Of documents that came in an hour, so many may be clustered after it where the queue does not grow. */
const fewLate = 0.02;

/** The highest rate up to which the queue does not grow, hour after hour. */
function keepsUpTo(rates: Batch["rates"]): string {
  const growing = rates.findIndex(({ late, loaded }) => late > Math.max(1, fewLate * loaded));
  const kept = growing === -1 ? rates.at(-1) : rates[growing - 1];
  return kept === undefined ? "" : `${kept.percent} %`;
}

function summary(repositories: readonly Repository[]): string {
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
        placeOf(place).shown,
        duration(batchMs),
        `${short(hourSeconds)} s`,
        [0.05, 0.5, 0.95].map((part) => duration(batchDelay(batchMs, part))).join(", "),
        crossover === undefined || crossover === null ? "above all" : `${whole(crossover)} %`,
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

function rates(repositories: readonly Repository[]): string {
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
          placeOf(place).shown,
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
