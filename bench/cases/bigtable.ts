import { open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import type { Comparison } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import type { Bench, BenchCase } from "./bench.js";
import { RawBigtable } from "./bigtable-raw.js";
import { documents, fill, type Measured, readSpec, transactionSpec, width } from "./bigtable-specs.js";
import { sharedOracle } from "./shared-oracle.js";

const maxCells = 5_000;

/**
 * Runs on the emulator of Cloud Bigtable. Compares transactions that write one cell with
 * conditional mutations, and reads with row reads. Both sides run in this process and use the same
 * transport, table layout, filters and concurrency.
 *
 * The first measurement batches nothing on either side. In the second one our store batches: reads
 * of one turn of the event loop at the same timestamp become one request for a set of rows.
 * Batching does not help transactions of one cell. Each is two conditional mutations, and Bigtable
 * accepts only one conditional mutation in a request.
 */
export const bigtable: BenchCase = {
  name: "bigtable",
  about:
    `transactions of one cell and reads on Bigtable's emulator, ${width} in flight, beside raw requests; ` +
    "each by itself, and with reads of one turn gathered by our store",
  async run(bench) {
    const emulator = await startEmulator();
    try {
      const comparisons = [
        ...(await measure(bench, emulator, false)),
        ...(await measure(bench, emulator, true)),
      ];
      return { comparisons, figures: [] };
    } finally {
      await emulator.stop();
    }
  },
};

/** Measures with a new database, and separate tables for the raw side. */
async function measure(bench: Bench, { host }: Emulator, gathered: boolean): Promise<readonly Comparison[]> {
  const place = `bigtable://project/instance?prefix=${gathered ? "gathered" : "bench"}`;
  const store = await openBigtableStore(place, { emulatorHost: host, gather: gathered });
  await using db = await open(store, { tables: [documents], oracle: sharedOracle(), collectEveryMs: 0 });
  const own = await RawBigtable.open(host, place);
  const same = await RawBigtable.open(host, place, "documents");
  const { cells, quick } = bench.options;
  const rows = Array.from({ length: Math.min(cells, maxCells) }, (_, cell) => rowOf(cell));
  const writing: Measured = { db, raw: own, rows, operations: quick ? 1_000 : 3_000, gathered };
  const reading: Measured = { db, raw: same, rows, operations: quick ? 2_000 : 5_000, gathered };
  try {
    const transactions = await bench.compare(transactionSpec(writing));
    await fill(reading);
    return [transactions, await bench.compare(readSpec(reading))];
  } finally {
    own.close();
    same.close();
  }
}
