/**
 * The batch twin, in its own process: reads every document and writes every cluster, as fast as
 * possible.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { serve } from "../harness/child.js";
import { inFlight, WrongResultError } from "../harness/compare.js";
import { loadRaw, RawDatabase } from "../harness/raw.js";
import type { BatchPlace } from "./figure.js";
import { clustersOf, joined } from "./repository.js";
import { batchClusters, documents } from "./tables.js";
import { countWrongOfBare, countWrongOfBatch, pairsOf } from "./verify.js";

export interface BatchTask {
  readonly place: BatchPlace;
  /** The folder of the database, or of an LMDB with the documents. */
  readonly folder: string;
  readonly runs: number;
}

const transactionRows = 1_000;
const transactionsAtOnce = 4;

serve({
  /**
   * Returns the milliseconds of each batch, ascending. The results are checked after all batches
   * were timed.
   */
  async run({ place, folder, runs }: BatchTask): Promise<readonly number[]> {
    const times = await (place === "bare LMDB" ? measureBare(folder, runs) : measureSame(folder, runs));
    return times.sort((a, b) => a - b);
  },
});

async function measureSame(folder: string, runs: number): Promise<number[]> {
  await using db = await open(folder, { tables: [documents, batchClusters] });
  // The first run writes new rows. All later ones overwrite them.
  await runSame(db);
  const times: number[] = [];
  while (times.length < runs) times.push(await runSame(db));
  expectNone(await countWrongOfBatch(db));
  return times;
}

/**
 * Overwrites the clusters of the previous batch, in transactions, so that readers of the database
 * see them.
 */
async function runSame(db: Database): Promise<number> {
  const began = performance.now();
  const all: (readonly [string, string])[] = [];
  const before = new Set<string>();
  {
    await using snapshot = await db.snapshot();
    for await (const { row, value } of snapshot.scan(documents.keys)) all.push([row, value]);
    for await (const { row } of snapshot.scan(batchClusters.members)) before.add(row);
  }
  const found = clustersOf(all);
  const keys = [...new Set([...found.keys(), ...before])].sort();
  await inFlight(Math.ceil(keys.length / transactionRows), transactionsAtOnce, (number) =>
    db.transact(async (tx) => {
      for (const key of keys.slice(number * transactionRows, (number + 1) * transactionRows)) {
        const members = found.get(key);
        if (members === undefined) tx.delete(batchClusters.members, key);
        else tx.set(batchClusters.members, key, joined(members));
      }
    }),
  );
  return performance.now() - began;
}

async function measureBare(folder: string, runs: number): Promise<number[]> {
  const outs = Array.from({ length: runs }, (_, number) => join(folder, `batch-${number}`));
  const times: number[] = [];
  for (const out of outs) times.push(await runBare(folder, out));
  const source = new RawDatabase(join(folder, "documents"));
  for (const out of outs) {
    const result = new RawDatabase(out);
    expectNone(countWrongOfBare(source, result));
    await result.close();
    rmSync(out, { recursive: true });
  }
  await source.close();
  return times;
}

async function runBare(folder: string, out: string): Promise<number> {
  const began = performance.now();
  const source = new RawDatabase(join(folder, "documents"));
  const result = new RawDatabase(out);
  const found = clustersOf(pairsOf(source, "documents"));
  const rows = [...found.keys()].sort().map((key) => [key, joined(found.get(key)!)] as const);
  loadRaw(result, "clusters", rows);
  await result.close();
  const tookMs = performance.now() - began;
  await source.close();
  return tookMs;
}

function expectNone(wrong: number): void {
  if (wrong > 0) throw new WrongResultError(`${wrong} clusters of the batch are wrong.`);
}
