import type { Database } from "percolatordb";
import type { Bench, BenchCase } from "../context.js";
import { shuffled } from "../data.js";
import { Dataset } from "../dataset.js";
import type { Comparison } from "../harness.js";

const floor = 0.5;

/** Point reads in random order, decoded to strings, each awaited before the next. */
export const reads: BenchCase = {
  name: "reads",
  about: "point reads through a snapshot, beside gets",
  run: (bench) =>
    bench.withDatabases({ durability: "none" }, async (db, raw) => {
      const { cells } = bench.options;
      const comparisons: Comparison[] = [];
      for (const [valueBytes, olderVersions] of [
        [100, 0],
        [1_000, 0],
        [100, 4],
      ] as const) {
        const name = `reads${valueBytes}v${olderVersions}`;
        const data = await new Dataset({ name, cells, valueBytes, olderVersions }, raw).load(bench, db, raw);
        const what = `${valueBytes} bytes${olderVersions === 0 ? "" : `, ${olderVersions} older versions beneath`}`;
        comparisons.push(await bench.compare(singleReads(bench, db, data, what)));
        if (olderVersions === 0) comparisons.push(await bench.compare(manyReads(bench, db, data, what)));
      }
      return { comparisons, figures: [] };
    }),
};

function singleReads(bench: Bench, db: Database, data: Dataset, what: string) {
  const order = shuffled(data.cells, 1);
  const operations = Math.min(order.length, bench.options.quick ? 10_000 : 50_000);
  const start = (round: number) => (round * operations) % (order.length - operations + 1);
  return {
    name: `point reads, ${what}`,
    unit: "reads",
    operations,
    floor,
    raw: rawGets(data, order, operations, start),
    ours: {
      async run(round: number) {
        await using snapshot = await db.snapshot();
        const { contents } = data.table;
        const from = start(round);
        let sum = 0;
        for (let at = from; at < from + operations; at++) {
          sum += checkOf(await snapshot.get(contents, data.rows[order[at]!]!));
        }
        return sum;
      },
    },
  };
}

function manyReads(bench: Bench, db: Database, data: Dataset, what: string) {
  const order = shuffled(data.cells, 2);
  const operations = Math.min(order.length, bench.options.quick ? 10_000 : 50_000);
  const start = (round: number) => (round * operations) % (order.length - operations + 1);
  return {
    name: `getMany of 100 rows, ${what}`,
    unit: "reads",
    operations,
    floor,
    raw: rawGets(data, order, operations, start),
    ours: {
      async run(round: number) {
        await using snapshot = await db.snapshot();
        const { contents } = data.table;
        const from = start(round);
        let sum = 0;
        for (let at = from; at < from + operations; at += 100) {
          const rows: string[] = [];
          for (let i = at; i < Math.min(at + 100, from + operations); i++) rows.push(data.rows[order[i]!]!);
          for (const value of await snapshot.getMany(contents, rows)) sum += checkOf(value);
        }
        return sum;
      },
    },
  };
}

function rawGets(data: Dataset, order: Uint32Array, operations: number, start: (round: number) => number) {
  return {
    run(round: number) {
      const { strings } = data.raw;
      const from = start(round);
      let sum = 0;
      for (let at = from; at < from + operations; at++) sum += checkOf(strings.get(data.keys[order[at]!]!));
      return sum;
    },
  };
}

/** Of a value: its length and a character of it. */
function checkOf(value: string | undefined): number {
  return value === undefined ? Number.NaN : value.length + value.charCodeAt(0);
}
