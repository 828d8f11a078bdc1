import { quantile } from "../harness/statistics.js";
import { cpuSeconds } from "../harness/usage.js";
import type { SearchTimes } from "./figure.js";

/** Runs queries in sequence, then `atOnce` at a time. `search` resolves to the pages found. */
export async function measureSearches(
  queries: readonly string[],
  atOnce: number,
  search: (query: string) => Promise<number>,
): Promise<SearchTimes> {
  // Fills the caches of every engine alike.
  for (const query of queries) await search(query);
  const cpu = process.cpuUsage();
  const { times, totals } = await inSequence(queries, search);
  const cpuMs = (cpuSeconds(cpu) * 1_000) / queries.length;
  const began = performance.now();
  const left = queries.values();
  const lane = async () => {
    for (const query of left) await search(query);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const perSecond = queries.length / ((performance.now() - began) / 1_000);
  return { ...quantilesOf(times), perSecond, cpuMs, totals };
}

async function inSequence(queries: readonly string[], search: (query: string) => Promise<number>) {
  const times: number[] = [];
  const totals: number[] = [];
  for (const query of queries) {
    const began = performance.now();
    totals.push(await search(query));
    times.push(performance.now() - began);
  }
  return { times, totals };
}

/** Returns the median and the 95th percentile. */
export function quantilesOf(times: readonly number[]): { readonly p50: number; readonly p95: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
}
