import { definition } from "../../schema/index.js";
import { asBuffer } from "../../store/index.js";
import type { HeatMap } from "../api/index.js";
import { type HeatSample, heatBucketMs, heatBuckets, heatMetrics } from "../recording/report.js";
import { rowText } from "../text/cells.js";
import { isInternal } from "../text/internal.js";
import type { View } from "./context.js";

const maxRanges = 24;

/**
 * How often transactions wrote, conflicted on or hinted at rows of a table, by key range and time.
 */
export const heat: View<HeatMap> = async (context, given) => {
  const metric = given.oneOf("metric", heatMetrics) ?? "writes";
  const { gathered, environment, reach } = context;
  const tables = await context.tables.get();
  const hottest = async () => {
    const totals = (await gathered.heat("", metric)).totals.filter(({ table: name }) => tables.table(name));
    const own = totals.find(({ table: name }) => !isInternal(tables, name)) ?? totals[0];
    return own?.table ?? tables.names.find((name) => !isInternal(tables, name)) ?? tables.names[0] ?? "";
  };
  const isChosen = given.text("table") !== undefined;
  const table = isChosen ? (await given.table())[definition].name : await hottest();
  const { samples, totals } = await gathered.heat(table, metric);
  const newest = Math.floor(environment.now() / heatBucketMs);
  const startsAt = (newest - heatBuckets + 1) * heatBucketMs;
  const weighed = samples.filter((sample) => sample.startsAt >= startsAt).flatMap(weigh);
  const starts = rangesOf(weighed);
  const counts = starts.map(() => new Array<number>(heatBuckets).fill(0));
  for (const { at, row, weight } of weighed) {
    const bucket = Math.round((at - startsAt) / heatBucketMs);
    const range = lastAtMost(starts, row);
    if (bucket < heatBuckets && range >= 0) counts[range]![bucket]! += weight;
  }
  return {
    reach,
    table,
    metric,
    ranges: starts.map((row) => rowText(tables, table, row)),
    startsAt,
    bucketMs: heatBucketMs,
    totals: totals.map((each) => ({ ...each, count: Math.round(each.count) })),
    counts: counts.map((row) => row.map(Math.round)),
  };
};

interface Weighed {
  readonly at: number;
  readonly row: Buffer;
  readonly weight: number;
}

/** Weighs each sampled row by the number of touched rows that it represents. */
function weigh({ startsAt, total, rows }: HeatSample): readonly Weighed[] {
  return rows.map((row) => ({
    at: startsAt,
    row: asBuffer(Buffer.from(row, "base64")),
    weight: total / rows.length,
  }));
}

/**
 * The first rows of ranges that hold about equal weights. There are at most as many ranges as rows.
 */
function rangesOf(weighed: readonly Weighed[]): readonly Buffer[] {
  const sorted = weighed.toSorted((a, b) => Buffer.compare(a.row, b.row));
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0);
  const starts: Buffer[] = [];
  let before = 0;
  for (const { row, weight } of sorted) {
    const isNew = starts.length === 0 || !starts.at(-1)!.equals(row);
    if (isNew && before >= (starts.length * total) / maxRanges) starts.push(row);
    before += weight;
  }
  return starts;
}

/** Index of the last start that is at or before the row, or -1 if there is none. */
function lastAtMost(starts: readonly Buffer[], row: Buffer): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (Buffer.compare(starts[middle]!, row) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
