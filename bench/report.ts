import type { Figure } from "./context.js";
import type { Comparison } from "./harness.js";
import type { Configuration } from "./machine.js";

/** Results in words, for the terminal. */

export function printConfiguration(configuration: Configuration): string {
  const { node, lmdb, percolatordb, system, cpu, cpus, memoryGiB, cells, valueBytes, rounds } = configuration;
  return [
    `percolatordb ${percolatordb}, lmdb ${lmdb}, node ${node}, ${system}`,
    `${cpu}, ${cpus} processors, ${memoryGiB} GiB of memory`,
    `${whole(cells)} cells a table, values of ${valueBytes.join(" and ")} bytes, ${rounds} rounds, both sides in turns`,
    "Rates are medians a second; ratios are medians over the rounds, with the quartiles beside them.",
  ].join("\n");
}

const nameWidth = 58;

export function printHeading(): string {
  return `${"".padEnd(nameWidth)}${["raw", "percolatordb", "ratio", "quartiles", "floor", "by cpu time"].map((word) => word.padStart(14)).join("")}`;
}

export function printComparison(comparison: Comparison): string {
  const { name, raw, ours, ratio, processorRatio, floor } = comparison;
  const columns = [
    whole(raw.median),
    whole(ours.median),
    ratio.median.toFixed(2),
    `${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`,
    floor === undefined ? "" : `${floor.toFixed(2)} ${ratio.median >= floor ? "met" : "MISSED"}`,
    processorRatio.median.toFixed(2),
  ];
  return `${name.padEnd(nameWidth)}${columns.map((column) => column.padStart(14)).join("")}`;
}

export function printFigure({ name, value, unit, spread, ceiling }: Figure): string {
  const between = spread === undefined ? "" : ` (quartiles ${short(spread.low)} to ${short(spread.high)})`;
  const wanted =
    ceiling === undefined ? "" : `, at most ${ceiling} wanted: ${value <= ceiling ? "met" : "MISSED"}`;
  return `${name.padEnd(nameWidth)}${short(value).padStart(14)} ${unit}${between}${wanted}`;
}

function short(value: number): string {
  return Math.abs(value) < 100 ? value.toFixed(2) : whole(value);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}
