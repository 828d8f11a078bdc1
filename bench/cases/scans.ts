import type { Database } from "percolatordb";
import { type Comparison, type ComparisonSpec, onceVerified, WrongResultError } from "../harness/compare.js";
import { shuffled } from "../harness/data.js";
import type { Bench, BenchCase } from "./bench.js";
import { Dataset } from "./dataset.js";

const rangeLength = 100;

interface Measured {
  readonly valueBytes: number;
  readonly olderVersions: number;
  /** The share of all cells to load. Loading many versions of each takes long. */
  readonly share: number;
  readonly floor: number;
}

const measured: readonly Measured[] = [
  { valueBytes: 100, olderVersions: 0, share: 1, floor: 0.7 },
  { valueBytes: 1_000, olderVersions: 0, share: 1, floor: 0.7 },
  { valueBytes: 100, olderVersions: 4, share: 1, floor: 0.7 },
  { valueBytes: 100, olderVersions: 100, share: 0.05, floor: 0.5 },
];

/**
 * Scans of 100 cells from random rows, and of whole tables. Rows and values are decoded to strings.
 */
export const scans: BenchCase = {
  name: "scans",
  about: "scans through a snapshot, beside range scans",
  run: (bench) =>
    bench.withDatabases({ durability: "none" }, async (db, raw) => {
      const comparisons: Comparison[] = [];
      for (const { valueBytes, olderVersions, share, floor } of measured) {
        const name = `scans${valueBytes}v${olderVersions}`;
        const cells = Math.max(2_000, Math.floor(bench.options.cells * share));
        const data = await new Dataset({ name, cells, valueBytes, olderVersions }, raw).load(bench, db, raw);
        const what = `${valueBytes} bytes${olderVersions === 0 ? "" : `, with ${olderVersions} older versions`}`;
        comparisons.push(await bench.compare({ ...ranges(bench, db, data, what), floor }));
        comparisons.push(await bench.compare({ ...wholeTable(db, data, what), floor }));
      }
      return { comparisons, figures: [] };
    }),
};

export function ranges(
  bench: Pick<Bench, "options">,
  db: Database,
  data: Dataset,
  what: string,
): ComparisonSpec {
  const count = bench.options.quick ? 200 : 1_000;
  const starts = shuffled(data.cells - rangeLength, 3);
  const from = (round: number, range: number) => starts[(round * count + range) % starts.length]!;
  return {
    name: `ranges of ${rangeLength}, ${what}`,
    unit: "entries",
    operations: count * rangeLength,
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
      // Checks only the ranges of the first round. Checking all rounds would compare each row a
      // hundred times.
      verify: onceVerified(async () => {
        for (let range = 0; range < count; range++)
          await expectRows(db, data, { first: from(0, range), limit: rangeLength });
      }),
    },
  };
}

export function wholeTable(db: Database, data: Dataset, what: string): ComparisonSpec {
  return {
    name: `whole table, ${what}`,
    unit: "entries",
    operations: data.cells,
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
      verify: onceVerified(() => expectRows(db, data, { first: 0 })),
    },
  };
}

/**
 * Scans from a row and compares every row and value. Throws a `WrongResultError` if one is wrong,
 * missing or superfluous.
 */
async function expectRows(
  db: Database,
  data: Dataset,
  { first, limit }: { readonly first: number; readonly limit?: number },
): Promise<void> {
  const options = limit === undefined ? {} : { start: data.rows[first]!, limit };
  let index = first;
  await using snapshot = await db.snapshot();
  for await (const { row, value } of snapshot.scan(data.table.contents, options)) {
    if (row !== data.rows[index]) throw wrongRow(row, data.rows[index]);
    data.expectNewest(index++, value);
  }
  const end = limit === undefined ? data.cells : first + limit;
  if (index !== end) throw wrongRow(undefined, data.rows[index]);
}

function wrongRow(found: string | undefined, wanted: string | undefined): WrongResultError {
  return new WrongResultError(`Row ${wanted ?? "none"} was expected, but it was ${found ?? "none"}.`);
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
