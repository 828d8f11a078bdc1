import type { SimulationCounts } from "percolatordb/testing";

/** Formats the counts in a few lines. */
export function showCounts(counts: SimulationCounts): string {
  const { stores, faults, ...numbers } = counts;
  return [line("Happened", numbers), line("Stores", stores), line("Faults", faults)].join("\n");
}

function line(name: string, numbers: Readonly<Record<string, number>>): string {
  const shown = Object.entries(numbers).map(([what, count]) => `${wordsOf(what)} ${count}`);
  return `${name}: ${shown.join(", ")}`;
}

function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
