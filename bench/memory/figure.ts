import { lineChart } from "../figures/chart.js";
import type { Figure } from "../figures/figure.js";
import { summarize } from "../harness/statistics.js";
import { right, short, table, whole } from "../harness/words.js";

/** Memory of the process at one moment, in bytes. */
export interface MemorySample {
  /** Seconds since the samples began. */
  readonly at: number;
  /** All resident memory, including the pages of LMDB's mapped file. */
  readonly resident: number;
  /** Heap, buffers and stacks. Undefined if the system does not report it. */
  readonly anonymous?: number | undefined;
  /** The used part of the heap. */
  readonly heap: number;
  /** Buffers outside of the heap. */
  readonly external: number;
  /** Updates committed since the samples began. */
  readonly updates: number;
}

/** The process's results. */
export interface Found {
  readonly samples: readonly MemorySample[];
  /** Garbage collections of the database that ran during the samples. */
  readonly collections: number;
  readonly wrong: number;
  /** The problems that `check` found. */
  readonly problems: number;
}

/** The trend of a quantity over time. */
export interface Trend {
  /** The medians of the first fifth of the samples, of all, and of the last fifth. */
  readonly start: number;
  readonly median: number;
  readonly end: number;
  readonly max: number;
  /**
   * The median of the slopes between all pairs of samples, per minute. Single peaks do not affect
   * it.
   */
  readonly perMinute: number;
}

export interface MemoryResult extends Found {
  readonly options: object;
  readonly perSecond: number;
  /** In MiB. */
  readonly trends: Readonly<Record<string, Trend>>;
}

const mebibyte = 2 ** 20;
const shown = {
  anonymous: "anonymous: heap, buffers, stacks",
  heap: "of that, heap in use",
  external: "of that, buffers outside the heap",
  resident: "resident, with the mapped pages of the file",
};
type Kind = keyof typeof shown;
const kinds = Object.keys(shown) as readonly Kind[];

const pointsOf = (samples: readonly MemorySample[], kind: Kind) =>
  samples.flatMap(({ at, [kind]: bytes }) => (bytes === undefined ? [] : [{ x: at, y: bytes / mebibyte }]));

/** The trends of each kind of memory that the system reports. */
export function trendsOf(samples: readonly MemorySample[]): Readonly<Record<string, Trend>> {
  const all = kinds.map((kind) => [kind, pointsOf(samples, kind)] as const);
  return Object.fromEntries(
    all.flatMap(([kind, points]) => (points.length > 0 ? [[kind, trendOf(points)]] : [])),
  );
}

/** The trend of points, in the order of their seconds. */
export function trendOf(points: readonly { readonly x: number; readonly y: number }[]): Trend {
  const values = points.map(({ y }) => y);
  const fifth = Math.max(1, Math.floor(values.length / 5));
  const slopes = points.flatMap((first, index) =>
    points.slice(index + 1).flatMap(({ x, y }) => (x > first.x ? [(y - first.y) / (x - first.x)] : [])),
  );
  return {
    start: summarize(values.slice(0, fifth)).median,
    median: summarize(values).median,
    end: summarize(values.slice(-fifth)).median,
    max: Math.max(...values),
    perMinute: summarize(slopes).median * 60,
  };
}

export const memory: Figure = {
  name: "memory",
  about: "memory of a database under constant updates, with observers and collection, over time",
  measurements: [
    {
      name: "lmdb",
      script: "memory",
      args: { small: ["--seconds", "25", "--warm-up", "8"], full: ["--seconds", "600", "--warm-up", "60"] },
      minutes: { small: 3, full: 15 },
    },
  ],
  draw(results) {
    const found = results.get<MemoryResult>("lmdb")!;
    const alt = "Memory under constant updates";
    const svg = lineChart({
      title: alt,
      description:
        "Memory of the process that keeps the database, in mebibytes, over the seconds of a constant load of updates with an observer, with collection running.",
      across: { name: "seconds" },
      up: { name: "MiB" },
      lines: [
        { name: "anonymous", plain: true, points: pointsOf(found.samples, "anonymous") },
        { name: "heap in use", plain: true, points: pointsOf(found.samples, "heap") },
      ],
    });
    return { tables: describeMemory(found), plots: [{ name: "memory", alt, svg }] };
  },
};

export function describeMemory({ perSecond, collections, wrong, trends }: MemoryResult): readonly string[] {
  const rows = Object.entries(trends).map(([kind, { start, median, end, max, perMinute }]) => [
    shown[kind as Kind],
    ...[start, median, end, max].map(short),
    `${perMinute > 0 ? "+" : ""}${short(perMinute)}`,
  ]);
  const columns = ["MiB", right("start"), right("median"), right("end"), right("most"), right("a minute")];
  const load = `${whole(perSecond)} updates/s, each with the run of an observer; ${whole(collections)} collections meanwhile; rows wrong in the end: ${whole(wrong)}.`;
  return [load, table(columns, rows)];
}
