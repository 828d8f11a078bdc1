import type { Database } from "percolatordb";
import type { Bench, BenchCase } from "../context.js";
import { shuffled } from "../data.js";
import { Dataset } from "../dataset.js";
import type { Comparison } from "../harness.js";

const floor = 0.5;
const rangeLength = 100;

/** Ranges of 100 cells from random rows on, and whole tables; rows and values decoded to strings. */
export const scans: BenchCase = {
  name: "scans",
  about: "scans through a snapshot, beside range scans",
  run: (bench) =>
    bench.withDatabases({ durability: "none" }, async (db, raw) => {
      const { cells } = bench.options;
      const comparisons: Comparison[] = [];
      for (const [valueBytes, olderVersions] of [
        [100, 0],
        [1_000, 0],
        [100, 4],
      ] as const) {
        const name = `scans${valueBytes}v${olderVersions}`;
        const data = await new Dataset({ name, cells, valueBytes, olderVersions }, raw).load(bench, db, raw);
        const what = `${valueBytes} bytes${olderVersions === 0 ? "" : `, ${olderVersions} older versions beneath`}`;
        comparisons.push(await bench.compare(ranges(bench, db, data, what)));
        comparisons.push(await bench.compare(wholeTable(db, data, what)));
      }
      return { comparisons, figures: [] };
    }),
};

function ranges(bench: Bench, db: Database, data: Dataset, what: string) {
  const count = bench.options.quick ? 200 : 1_000;
  const starts = shuffled(data.cells - rangeLength, 3);
  const from = (round: number, range: number) => starts[(round * count + range) % starts.length]!;
  return {
    name: `ranges of ${rangeLength}, ${what}`,
    unit: "entries",
    operations: count * rangeLength,
    floor,
    raw: {
      run(round: number) {
        let sum = 0;
        for (let range = 0; range < count; range++) {
          sum += rawScan(data, { start: data.keys[from(round, range)]!, limit: rangeLength });
        }
        return sum;
      },
    },
    ours: {
      async run(round: number) {
        await using snapshot = await db.snapshot();
        let sum = 0;
        for (let range = 0; range < count; range++) {
          const options = { start: data.rows[from(round, range)]!, limit: rangeLength };
          for await (const { row, value } of snapshot.scan(data.table.contents, options)) {
            sum += row.length + row.charCodeAt(row.length - 12) + value.length + value.charCodeAt(0);
          }
        }
        return sum;
      },
    },
  };
}

function wholeTable(db: Database, data: Dataset, what: string) {
  return {
    name: `whole table, ${what}`,
    unit: "entries",
    operations: data.cells,
    floor,
    raw: { run: () => rawScan(data, {}) },
    ours: {
      async run() {
        await using snapshot = await db.snapshot();
        let sum = 0;
        for await (const { row, value } of snapshot.scan(data.table.contents)) {
          sum += row.length + row.charCodeAt(row.length - 12) + value.length + value.charCodeAt(0);
        }
        return sum;
      },
    },
  };
}

function rawScan(data: Dataset, range: { readonly start?: Buffer; readonly limit?: number }): number {
  const { keyPrefixBytes, keySuffixBytes } = data;
  let sum = 0;
  for (const { key, value } of data.raw.strings.getRange(range)) {
    const row = key.toString("utf8", keyPrefixBytes, key.length - keySuffixBytes);
    sum += row.length + row.charCodeAt(row.length - 12) + value.length + value.charCodeAt(0);
  }
  return sum;
}
