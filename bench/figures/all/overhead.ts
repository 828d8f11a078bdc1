import { type BarGroup, barChart } from "../chart/bars.js";
import type { Drawing, Figure, Plot } from "../figure.js";
import { ratio, whole } from "../words.js";
import { benchCases, type Comparison, comparisonsOf, comparisonTable } from "./bench-results.js";

/** What the paper's table of figure 8 has: Percolator beside Bigtable used directly. */
const paper = [
  { name: "reads of one cell, the paper", value: 0.94 },
  { name: "writes of one cell, the paper", value: 0.23 },
];

export const overhead: Figure = {
  name: "overhead",
  about: "reads, scans and transactions beside the raw store: LMDB, and Bigtable's emulator (figure 8)",
  measurements: [
    benchCases("lmdb", ["reads", "scans", "transactions"], { minutes: { small: 8, full: 60 } }),
    benchCases("bigtable", ["bigtable"], { minutes: { small: 4, full: 30 } }),
  ],
  draw(results): Drawing {
    const [lmdb, bigtable] = [comparisonsOf(results, "lmdb"), comparisonsOf(results, "bigtable")];
    const tables = [
      ...(lmdb.length === 0 ? [] : [`On LMDB:\n\n${comparisonTable(lmdb)}`]),
      ...(bigtable.length === 0 ? [] : [`On Bigtable's emulator:\n\n${comparisonTable(bigtable)}`]),
    ];
    return { tables, plots: [ratios(lmdb, bigtable), ...batching(lmdb)] };
  },
};

/** Shown as bars: keys that are ready are what no program has, and old versions beneath are in the table. */
const isShown = ({ name }: Comparison) => !/ready keys|older versions/.test(name);

function ratios(lmdb: readonly Comparison[], bigtable: readonly Comparison[]): Plot {
  const shown = ({ name, ratio: { median, low, high }, floor }: Comparison, store: string): BarGroup => ({
    name: `${name}${store}`,
    bars: [{ value: median, low, high, text: ratio(median) }],
    bound: floor,
  });
  const title = "Speed as a part of the raw store's";
  const svg = barChart({
    title,
    description:
      "Reads, scans and transactions through percolatordb, each as a ratio of the same work done on the store directly, in the same run; 1 is no overhead at all.",
    axis: "of the raw store's rate",
    series: ["percolatordb", "the paper"],
    groups: [
      ...lmdb.filter(isShown).map((each) => shown(each, "")),
      ...bigtable.map((each) => shown(each, ", Bigtable")),
      ...paper.map(
        ({ name, value }): BarGroup => ({ name, bars: [undefined, { value, text: ratio(value) }] }),
      ),
    ],
    boundName: "floor",
  });
  return { name: "overhead", alt: title, svg };
}

/** Transactions by how many are in flight: one alone is a group of its own, with a flush of its own. */
function batching(lmdb: readonly Comparison[]): readonly Plot[] {
  const transactions = lmdb.filter(({ name }) => name.startsWith("transactions"));
  if (transactions.length === 0) return [];
  const title = "Transactions a second, one and 1,000 in flight";
  const svg = barChart({
    title,
    description:
      "Transactions a second on LMDB beside puts of the new entries alone, with one in flight, which cannot be batched, and with 1,000, which share flushes. The axis is logarithmic.",
    axis: "a second",
    kind: "log",
    series: ["percolatordb", "LMDB, puts of the new entries alone"],
    groups: transactions.map(({ name, ours, raw }) => ({
      name: name.replace("transactions of ", ""),
      bars: [shownRate(ours.median), shownRate(raw.median)],
    })),
  });
  return [{ name: "batching", alt: title, svg }];
}

function shownRate(value: number) {
  return { value, text: whole(value) };
}
