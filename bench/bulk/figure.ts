import { barChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { ratios, summarize } from "../harness/statistics.js";
import { right, short, table, verdict, whole } from "../harness/words.js";
import type { Found, Side } from "./process.js";
import type { Shape } from "./tables.js";

export interface BulkResult {
  readonly options: Shape & { readonly rounds: number };
  readonly sides: Readonly<Record<Side, readonly Found[]>>;
}

const names: Readonly<Record<Side, string>> = {
  load: "`db.load` of both tables",
  observers: "transactions and an observer",
  transactions: "transactions that also store what is derived, no observer",
};

/** A load is at least this many times as fast as transactions and observers. */
export const leastRatio = 5;

export function isRightBulk({ options, sides }: BulkResult): boolean {
  const all = Object.values(sides).flat();
  return all.every(({ rows, due }) => rows === 2 * options.rows && due === 0);
}

export const bulk: Figure = {
  name: "bulk",
  about: "a bulk load into empty tables, beside transactions and an observer that make the same tables",
  measurements: [
    {
      name: "lmdb",
      script: "bulk",
      args: { small: ["--rows", "10000", "--rounds", "1"], full: ["--rows", "200000", "--rounds", "5"] },
      minutes: { small: 3, full: 20 },
    },
  ],
  draw(results) {
    const found = results.get<BulkResult>("lmdb")!;
    return { tables: describeBulk(found), plots: [plot(found)] };
  },
};

function plot({ options, sides }: BulkResult): Plot {
  const alt = "Documents a second, by how they are loaded";
  const short: Readonly<Record<Side, string>> = {
    load: "bulk load",
    observers: "transactions and observer",
    transactions: "transactions alone",
  };
  const groups = shown.map((side) => {
    const { median, low, high } = summarize(sides[side].map(({ seconds }) => options.rows / seconds));
    return { name: short[side], bars: [{ value: median, low, high, text: whole(median) }] };
  });
  const svg = barChart({
    title: alt,
    description:
      "Documents a second of a bulk load, of transactions with an observer, and of transactions alone.",
    axis: "documents/s",
    series: ["median"],
    groups,
  });
  return { name: "bulk", alt, svg };
}

const shown: readonly Side[] = ["load", "observers", "transactions"];

export function describeBulk({ options, sides }: BulkResult): readonly string[] {
  const { rows, bytes } = options;
  const perSecond = (found: readonly Found[]) => found.map(({ seconds }) => rows / seconds);
  const cpuOf = (found: readonly Found[]) => found.map(({ cpuSeconds }) => (1e6 * cpuSeconds) / rows);
  const times = (values: readonly number[]) => {
    const { median, low, high } = summarize(values);
    return `${short(median)} (${short(low)} to ${short(high)})`;
  };
  const rate = perSecond(sides.load);
  const cpu = cpuOf(sides.load);
  const lines = shown.map((side) => [
    names[side],
    whole(summarize(perSecond(sides[side])).median),
    times(ratios(rate, perSecond(sides[side]))),
    `${short(summarize(cpuOf(sides[side])).median)} µs`,
    times(ratios(cpuOf(sides[side]), cpu)),
  ]);
  const { median } = summarize(ratios(rate, perSecond(sides.observers)));
  return [
    `${whole(rows)} documents of ${whole(bytes)} bytes, and a derived row for each.`,
    table(
      [
        "how",
        right("documents a second"),
        right("the load is faster by"),
        right("CPU time a document"),
        right("the load needs less by"),
      ],
      lines,
    ),
    verdict(median >= leastRatio, `at least ${leastRatio} times the rate of transactions and an observer`),
  ];
}
