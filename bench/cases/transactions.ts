import type { Database } from "percolatordb";
import {
  type Comparison,
  type ComparisonSpec,
  inFlight,
  type Side,
  WrongResultError,
} from "../harness/compare.js";
import { shuffled, textOf } from "../harness/data.js";
import { type RawDatabase, RawGroups, type RawPut } from "../harness/raw.js";
import type { Bench, BenchCase } from "./bench.js";
import { Dataset } from "./dataset.js";
import { floorOf } from "./floors.js";

const valueBytes = 100;
/**
 * The bytes before a value: the header of the store's entry, and the header of the write record.
 * Each header is a byte of flags and a timestamp.
 */
const entryBytes = 9;
const recordBytes = 9;

interface Shape {
  readonly cells: number;
  readonly width: number;
  readonly durability: "full" | "none";
}

/**
 * The cells that the transactions of a round write. No two transactions of a round write the same
 * cell.
 */
interface Plan extends Shape {
  readonly count: number;
  cellsOf(round: number, transaction: number): readonly number[];
}

/**
 * Transactions that overwrite cells, compared with raw puts into LMDB. The puts write only the new
 * entries and, once in each group, a counter, as the store does. All waiting puts go into the next
 * asynchronous LMDB transaction. They are prepared before the measured time. They read and check
 * nothing, and keep no older version.
 */
export const transactions: BenchCase = {
  name: "transactions",
  about:
    "transactions of one and of ten cells, 1 and 1,000 in flight, with and without flush, beside raw puts",
  async run(bench) {
    const comparisons: Comparison[] = [];
    for (const durability of ["full", "none"] as const) {
      await bench.withDatabases({ durability }, async (db, raw) => {
        const spec = { name: "transactions", cells: bench.options.cells, valueBytes, olderVersions: 0 };
        const data = await new Dataset(spec, raw).load(bench, db, raw);
        for (const cells of [1, 10]) {
          for (const width of [1, 1_000]) {
            const plan = makePlan(bench, data, { cells, width, durability });
            comparisons.push(await bench.compare(overwrites(db, raw, data, plan)));
          }
        }
      });
    }
    return { comparisons, figures: [] };
  },
};

function makePlan(bench: Bench, data: Dataset, shape: Shape): Plan {
  const { cells, width, durability } = shape;
  // A round has so many transactions that its first and last group commits hardly affect the rate.
  const wanted = width > 1 ? (cells > 1 ? 4_000 : 40_000) : durability === "full" ? 200 : 1_000;
  const count = Math.min(bench.options.quick ? wanted / 2 : wanted, Math.floor(data.cells / cells));
  const order = shuffled(data.cells, 4 + cells + width);
  const groups = Math.floor(data.cells / cells);
  return {
    ...shape,
    count,
    cellsOf(round, transaction) {
      const first = ((round * count + transaction) % groups) * cells;
      return Array.from(order.subarray(first, first + cells));
    },
  };
}

function overwrites(db: Database, raw: RawDatabase, data: Dataset, plan: Plan): ComparisonSpec {
  const { cells, width, durability, count } = plan;
  const words = cells === 1 ? "one cell" : `${cells} cells`;
  const flush = durability === "full" ? "flushed" : "answered before the flush";
  const name = `transactions of ${words}, ${width.toLocaleString("en")} in flight, ${flush}`;
  return {
    name,
    unit: "transactions",
    operations: count,
    floor: floorOf(name),
    raw: rawSide(raw, data, plan),
    ours: ourSide(db, data, plan),
  };
}

function ourSide(db: Database, data: Dataset, { width, count, cellsOf }: Plan): Side {
  const { contents } = data.table;
  let units: (readonly { readonly row: string; readonly value: string }[])[] = [];
  return {
    prepare(round) {
      units = Array.from({ length: count }, (_, transaction) =>
        cellsOf(round, transaction).map((cell) => ({
          row: data.rows[cell]!,
          value: textOf(cell, valueBytes, round + 1),
        })),
      );
    },
    async run() {
      await inFlight(count, width, (transaction) =>
        db.transact((tx) => {
          for (const { row, value } of units[transaction]!) tx.set(contents, row, value);
        }),
      );
      return count;
    },
    async verify() {
      await using snapshot = await db.snapshot();
      for (const { row, value } of units.flat()) {
        const found = await snapshot.get(contents, row);
        if (found === value) continue;
        throw new WrongResultError(`Row ${row} holds ${found}, and its transaction wrote ${value}.`);
      }
    },
  };
}

function rawSide(raw: RawDatabase, data: Dataset, { width, durability, count, cellsOf }: Plan): Side {
  const groups = new RawGroups(raw, durability);
  let units: (readonly RawPut[])[] = [];
  return {
    prepare(round) {
      units = Array.from({ length: count }, (_, transaction) =>
        cellsOf(round, transaction).flatMap((cell) => putsOf(data, cell, round)),
      );
    },
    async run() {
      await inFlight(count, width, (transaction) => groups.commit(units[transaction]!));
      return count;
    },
    async verify() {
      // Reads show a commit that was answered before its flush only after the flush.
      await raw.root.flushed;
      for (const { table, key, value } of units.flat()) {
        if (table.bytes.get(key)?.equals(value)) continue;
        throw new WrongResultError(
          `LMDB holds ${table.bytes.get(key)?.toString()}, but ${value.toString()} was put.`,
        );
      }
    },
  };
}

/** The puts that overwrite one cell: its new entry, without the previous version. */
function putsOf(data: Dataset, cell: number, round: number): readonly RawPut[] {
  const value = Buffer.from(textOf(cell, entryBytes + recordBytes + valueBytes, round + 1));
  return [{ table: data.raw, key: data.keys[cell]!, value }];
}
