import { type Database, type Oracle, open, table, text } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { memoryStore } from "percolatordb/memory";
import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import type { Bench, BenchCase } from "../context.js";
import { rowOf, shuffled, textOf } from "../data.js";
import { type Comparison, type ComparisonSpec, inFlight, type Side, WrongResultError } from "../harness.js";
import { RawBigtable } from "./bigtable-raw.js";

const valueBytes = 100;
const width = 64;
const place = "bigtable://project/instance?prefix=bench";
const column = Buffer.from("contents");
const floors = { transactions: 0.45, reads: 0.94 };

const documents = table("documents", { contents: text() });

/**
 * On the emulator of Cloud Bigtable, in this process: transactions that write one cell beside conditional mutations, and reads
 * beside row reads, with the same transport, table layout and filters, as many at a time. Nothing is gathered on either side.
 */
export const bigtable: BenchCase = {
  name: "bigtable",
  about: `transactions of one cell and reads on Bigtable's emulator, ${width} in flight, beside raw requests`,
  async run(bench) {
    const emulator = await startEmulator();
    try {
      return { comparisons: await measure(bench, emulator), figures: [] };
    } finally {
      await emulator.stop();
    }
  },
};

async function measure(bench: Bench, { host }: Emulator): Promise<readonly Comparison[]> {
  const store = await openBigtableStore(place, { emulatorHost: host, gather: false });
  await using db = await open(store, { tables: [documents], oracle: sharedOracle(), collectEveryMs: 0 });
  const own = await RawBigtable.open(host, place);
  const same = await RawBigtable.open(host, place, "documents");
  try {
    const cells = Math.min(bench.options.cells, 5_000);
    const rows = Array.from({ length: cells }, (_, cell) => rowOf(cell));
    const transactions = await bench.compare(transactionSpec(bench, db, own, rows));
    await inFlight(cells, width, (cell) =>
      db.transact((tx) => tx.set(documents.contents, rows[cell]!, textOf(cell, valueBytes))),
    );
    return [transactions, await bench.compare(readSpec(bench, db, same, rows))];
  } finally {
    own.close();
    same.close();
  }
}

/** One counter for all timestamps, in this process: what the oracle costs is measured elsewhere. */
function sharedOracle(): Oracle {
  const counter = memoryStore().atomic!;
  return { next: (options) => counter.next(options), latest: () => counter.counter() };
}

function transactionSpec(
  bench: Bench,
  db: Database,
  raw: RawBigtable,
  rows: readonly string[],
): ComparisonSpec {
  const count = bench.options.quick ? 1_000 : 3_000;
  const order = shuffled(rows.length, 5);
  const cellOf = (round: number, index: number) => order[(round * count + index) % rows.length]!;
  let timestamp = 1_000_000;
  return {
    name: `transactions of one cell, ${width} in flight`,
    unit: "transactions",
    operations: count,
    floor: floors.transactions,
    raw: {
      async run(round) {
        let applied = 0;
        await inFlight(count, width, async (index) => {
          const cell = cellOf(round, index);
          const value = Buffer.from(textOf(cell, valueBytes, round));
          if (await raw.mutate(Buffer.from(rows[cell]!), column, ++timestamp, value)) applied++;
        });
        return applied;
      },
    },
    ours: {
      async run(round) {
        await inFlight(count, width, (index) => {
          const cell = cellOf(round, index);
          const value = textOf(cell, valueBytes, round);
          return db.transact((tx) => tx.set(documents.contents, rows[cell]!, value));
        });
        return count;
      },
    },
  };
}

function readSpec(bench: Bench, db: Database, raw: RawBigtable, rows: readonly string[]): ComparisonSpec {
  const count = bench.options.quick ? 2_000 : 5_000;
  const order = shuffled(rows.length, 6);
  const cellOf = (round: number, index: number) => order[(round * count + index) % rows.length]!;
  const headerBytes = 9;
  return {
    name: `reads of one cell, ${width} in flight`,
    unit: "reads",
    operations: count,
    floor: floors.reads,
    raw: readSide(count, async (round) => {
      const at = (await db.snapshot()).timestamp;
      return async (index) => {
        const value = await raw.read(Buffer.from(rows[cellOf(round, index)]!), column, at);
        return Buffer.from(value!).toString("utf8", headerBytes).length;
      };
    }),
    ours: readSide(count, async (round) => {
      const snapshot = await db.snapshot();
      return async (index) => (await snapshot.get(documents.contents, rows[cellOf(round, index)]!))!.length;
    }),
  };
}

function readSide(
  count: number,
  begin: (round: number) => Promise<(index: number) => Promise<number>>,
): Side {
  return {
    async run(round) {
      const read = await begin(round);
      let bytes = 0;
      await inFlight(count, width, async (index) => {
        const length = await read(index);
        if (length !== valueBytes) throw new WrongResultError(`A value of ${length} bytes was read.`);
        bytes += length;
      });
      return bytes;
    },
  };
}
