import type { Comparison } from "../harness/compare.js";
import { range, right, short, table, verdict, whole } from "../harness/words.js";

/**
 * The lowest ratios to the raw store on LMDB, by the names of comparisons. A table looks them up
 * when it is drawn, so that they also judge the results of earlier runs.
 */
const floors: readonly (readonly [names: RegExp, floor: number])[] = [
  [/raw side with ready keys$/, 0],
  [/^reads, 100 bytes/, 0.75],
  [/^reads, /, 0.7],
  [/^getMany of 100, /, 0.8],
  [/^transactions of one cell, 1 in flight, /, 0.5],
  [/^transactions of one cell, 1,000 in flight, flushed$/, 0.75],
  [/^transactions of one cell, 1,000 in flight, answered before the flush$/, 0.6],
  [/^transactions of 10 cells, 1 in flight, /, 0.7],
  [/^transactions of 10 cells, 1,000 in flight, flushed$/, 0.6],
  [/^transactions of 10 cells, 1,000 in flight, answered before the flush$/, 0.5],
];

/** Returns the floor of a comparison. Undefined if its name has none. */
export function floorOf(name: string): number | undefined {
  const floor = floors.find(([names]) => names.test(name))?.[1];
  return floor === 0 ? undefined : floor;
}

/** What these transactions must reach besides their ratio. FoundationDB states this rate for one core. */
const wanted = {
  name: "transactions of 10 cells, 1,000 in flight, flushed",
  cells: 10,
  cellsPerSecond: 46_000,
  cellUs: 15,
};

/** Draws the rate and the processor time of a cell. Empty if they were not measured. */
export function cellTables(
  comparisons: readonly Pick<Comparison, "name" | "ours" | "ourCpuUs">[],
): readonly string[] {
  const { name, cells, cellsPerSecond, cellUs } = wanted;
  const found = comparisons.find((each) => each.name === name);
  if (found === undefined) return [];
  const { median, low, high } = found.ours;
  const rate = { median: median * cells, low: low * cells, high: high * cells };
  const rows = [
    [
      "cells a second",
      whole(rate.median),
      range(rate, whole),
      verdict(rate.median >= cellsPerSecond, `at least ${whole(cellsPerSecond)}`),
    ],
  ];
  if (found.ourCpuUs !== undefined) {
    const cpu = found.ourCpuUs;
    const each = { median: cpu.median / cells, low: cpu.low / cells, high: cpu.high / cells };
    rows.push([
      "CPU time of a cell, all threads, in µs",
      short(each.median),
      range(each, short),
      verdict(each.median <= cellUs, `at most ${cellUs}`),
    ]);
  }
  return [table([name, right("median"), "quartiles", "wanted"], rows)];
}

/** The most milliseconds, at the median, from a commit to its observer's commit in another process on PostgreSQL. */
export const postgresDelayMs = 20;

/** What transactions and reads on PostgreSQL must reach, with server and client on the same two processors. */
const postgresRates = [
  {
    name: "transactions of one cell on PostgreSQL, 1,000 in flight",
    unit: "transactions a second",
    units: 1,
    floor: 20_000,
  },
  {
    name: "transactions of 10 cells on PostgreSQL, 200 in flight",
    unit: "cells a second",
    units: 10,
    floor: 40_000,
  },
  {
    name: "reads on PostgreSQL, 1,000 in flight, gathered",
    unit: "reads a second",
    units: 1,
    floor: 40_000,
  },
];

/** Draws the rates on PostgreSQL that have a floor. Empty if they were not measured. */
export function postgresTables(comparisons: readonly Pick<Comparison, "name" | "ours">[]): readonly string[] {
  const rows = postgresRates.flatMap(({ name, unit, units, floor }) => {
    const ours = comparisons.find((each) => each.name === name)?.ours;
    if (ours === undefined) return [];
    const rate = { median: ours.median * units, low: ours.low * units, high: ours.high * units };
    const met = verdict(rate.median >= floor, `at least ${whole(floor)}`);
    return [[name, unit, whole(rate.median), range(rate, whole), met]];
  });
  return rows.length === 0 ? [] : [table(["", "", right("median"), "quartiles", "wanted"], rows)];
}
