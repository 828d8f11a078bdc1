import { pause } from "../harness/pause.js";
import { quantile } from "../harness/statistics.js";
import { cpuSeconds, cpuSecondsOf } from "../harness/usage.js";
import type { SearchTimes } from "./figure.js";

/**
 * Runs queries in sequence, then `atOnce` at a time. `search` resolves to the pages found. `servers`
 * are the processes that search, besides this one.
 */
export async function measureSearches(
  queries: readonly string[],
  atOnce: number,
  search: (query: string) => Promise<number>,
  servers: readonly number[] = [],
): Promise<SearchTimes> {
  // Fills the caches of every engine alike.
  for (const query of queries) await search(query);
  const used = () => cpuSeconds() + cpuSecondsOf(servers);
  const before = used();
  const { times, totals } = await inSequence(queries, search);
  const cpuMs = ((used() - before) * 1_000) / queries.length;
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

/**
 * Calls `search` until `isOver`, with a rest after each. Returns the milliseconds of each, from the time
 * at which it was due: a busy main thread also delays the timer of the rest.
 */
export async function searchWhile(
  isOver: () => boolean,
  restMs: number,
  search: (index: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const times: number[] = [];
  let due = performance.now();
  while (!isOver()) {
    await search(times.length);
    times.push(performance.now() - due);
    due = performance.now() + restMs;
    await pause(restMs);
  }
  return times;
}

/** Returns the median and the 95th percentile. */
export function quantilesOf(times: readonly number[]): { readonly p50: number; readonly p95: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
}
