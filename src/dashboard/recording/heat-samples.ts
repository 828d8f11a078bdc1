import type { Environment } from "../../environment/index.js";
import type { EventCell } from "../../events/index.js";
import { type HeatMetric, type HeatSample, heatBucketMs, heatBuckets } from "./report.js";
import { sumOf } from "./sums.js";

const maxTables = 32;
const maxRows = 48;

interface Bucket {
  number: number;
  total: number;
  /** Count of rows offered to the sample so far. `rows` is a uniform sample of them. */
  offered: number;
  rows: Uint8Array[];
}

/**
 * Samples of the rows that transactions wrote, conflicted on or added hints for. There is one
 * uniform sample for each ten seconds. A heat map with any key ranges can be computed from the
 * samples later.
 */
export class HeatSamples {
  readonly #environment: Environment;
  readonly #buckets = new Map<string, Bucket[]>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** `all`: the number of cells in the transaction, if `cells` has only some of them. */
  add(nowMs: number, metric: HeatMetric, cells: readonly EventCell[], all = cells.length): void {
    if (cells.length === 0) return;
    const weight = Math.max(1, all / cells.length);
    for (const { table, row } of cells) {
      const bucket = this.#bucket(nowMs, table, metric);
      if (bucket === undefined) continue;
      bucket.total += weight;
      bucket.offered++;
      if (bucket.rows.length < maxRows) bucket.rows.push(row);
      else {
        const at = Math.floor(this.#environment.random() * bucket.offered);
        if (at < maxRows) bucket.rows[at] = row;
      }
    }
  }

  #bucket(nowMs: number, table: string, metric: HeatMetric): Bucket | undefined {
    const key = `${metric} ${table}`;
    let buckets = this.#buckets.get(key);
    if (buckets === undefined) {
      if (this.#buckets.size >= 3 * maxTables) return undefined;
      buckets = [];
      this.#buckets.set(key, buckets);
    }
    const number = Math.floor(nowMs / heatBucketMs);
    const last = buckets.at(-1);
    if (last?.number === number) return last;
    const bucket = { number, total: 0, offered: 0, rows: [] };
    buckets.push(bucket);
    if (buckets.length > heatBuckets) buckets.shift();
    return bucket;
  }

  list(nowMs: number, table: string, metric: HeatMetric): readonly HeatSample[] {
    const oldest = Math.floor(nowMs / heatBucketMs) - heatBuckets;
    return (this.#buckets.get(`${metric} ${table}`) ?? [])
      .filter(({ number }) => number > oldest)
      .map(({ number, total, rows }) => ({
        startsAt: number * heatBucketMs,
        total,
        rows: rows.map((row) => Buffer.from(row).toString("base64")),
      }));
  }

  /** How much activity each table had in the last minutes. */
  totals(nowMs: number, metric: HeatMetric): Readonly<Record<string, number>> {
    const oldest = Math.floor(nowMs / heatBucketMs) - heatBuckets;
    const sums = [...this.#buckets].flatMap(([key, buckets]) => {
      if (!key.startsWith(`${metric} `)) return [];
      const sum = sumOf(buckets, ({ number, total }) => (number > oldest ? total : 0));
      return [[key.slice(metric.length + 1), sum] as const];
    });
    return Object.fromEntries(sums);
  }
}
