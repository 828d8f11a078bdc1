/**
 * The batch twin, a process of its own: reads every document and writes every cluster, as fast as that goes. `twin.ts PLACE FOLDER RUNS`; prints
 * the milliseconds of each run as JSON.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { RawDatabase } from "../raw.js";
import type { BatchPlace } from "./report.js";
import { clustersOf, joined } from "./repository.js";
import { batchClusters, documents } from "./tables.js";

const putsAtOnce = 50_000;
const rowsOfTransaction = 1_000;
const transactionsAtOnce = 4;

async function runBare(folder: string): Promise<number> {
  const out = join(folder, "batch");
  const began = performance.now();
  const source = new RawDatabase(join(folder, "documents"));
  const result = new RawDatabase(out);
  const documents = source.table("documents").strings;
  const found = clustersOf(
    documents.getRange().map(({ key, value }): readonly [string, string] => [key.toString("latin1"), value]),
  );
  const table = result.table("clusters");
  let puts: { table: typeof table; key: Buffer; value: Buffer }[] = [];
  for (const key of [...found.keys()].sort()) {
    puts.push({ table, key: Buffer.from(key), value: Buffer.from(joined(found.get(key)!)) });
    if (puts.length < putsAtOnce) continue;
    result.load(puts);
    puts = [];
  }
  result.load(puts);
  await result.close();
  const tookMs = performance.now() - began;
  await source.close();
  rmSync(out, { recursive: true });
  return tookMs;
}

/** Writes over the clusters of the batch before, as readers of the database are to see them. */
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
  for (const key of found.keys()) before.delete(key);
  const keys = [...found.keys(), ...before].sort();
  let next = 0;
  const write = async () => {
    while (next < keys.length) {
      const some = keys.slice(next, next + rowsOfTransaction);
      next += some.length;
      await db.transact(async (tx) => {
        for (const key of some) {
          const members = found.get(key);
          if (members === undefined) tx.delete(batchClusters.members, key);
          else tx.set(batchClusters.members, key, joined(members));
        }
      });
    }
  };
  await Promise.all(Array.from({ length: transactionsAtOnce }, write));
  return performance.now() - began;
}

async function measure(place: BatchPlace, folder: string, runs: number): Promise<readonly number[]> {
  const took: number[] = [];
  if (place === "bare LMDB") {
    for (let number = 1; number <= runs; number++) took.push(await runBare(folder));
    return took;
  }
  await using db = await open(folder, { tables: [documents, batchClusters] });
  // The first writes new rows, which none after it does.
  await runSame(db);
  for (let number = 1; number <= runs; number++) took.push(await runSame(db));
  return took;
}

const [place, folder, runs] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await measure(place as BatchPlace, folder!, Number(runs)))}\n`);
