/**
 * The batch twin, a process of its own: reads every document and writes every cluster, as fast as that goes. `twin.ts PLACE FOLDER RUNS`; prints
 * the milliseconds of each run as JSON. What it wrote is looked at once all runs are timed; it fails where that is wrong.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { WrongResultError } from "../harness.js";
import { RawDatabase } from "../raw.js";
import type { BatchPlace } from "./report.js";
import { clustersOf, joined } from "./repository.js";
import { batchClusters, documents } from "./tables.js";
import { countWrongOfBare, countWrongOfBatch } from "./verify.js";

const putsAtOnce = 50_000;
const rowsOfTransaction = 1_000;
const transactionsAtOnce = 4;

async function runBare(folder: string, out: string): Promise<number> {
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
  return tookMs;
}

async function verifyBare(folder: string, out: string): Promise<void> {
  const source = new RawDatabase(join(folder, "documents"));
  const result = new RawDatabase(out);
  expectNone(countWrongOfBare(source, result));
  await result.close();
  await source.close();
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

function expectNone(wrong: number): void {
  if (wrong > 0) throw new WrongResultError(`${wrong} clusters of the batch are wrong.`);
}

/** The first run in the same database writes new rows, which none after it does. */
async function measureSame(folder: string, runs: number): Promise<readonly number[]> {
  const took: number[] = [];
  await using db = await open(folder, { tables: [documents, batchClusters] });
  await runSame(db);
  for (let number = 1; number <= runs; number++) took.push(await runSame(db));
  expectNone(await countWrongOfBatch(db));
  return took;
}

async function measureBare(folder: string, runs: number): Promise<readonly number[]> {
  const took: number[] = [];
  const outs = Array.from({ length: runs }, (_, number) => join(folder, `batch-${number}`));
  for (const out of outs) took.push(await runBare(folder, out));
  for (const out of outs) {
    await verifyBare(folder, out);
    rmSync(out, { recursive: true });
  }
  return took;
}

const [place, folder, runs] = process.argv.slice(2);
const measure = (place as BatchPlace) === "bare LMDB" ? measureBare : measureSame;
process.stdout.write(`${JSON.stringify(await measure(folder!, Number(runs)))}\n`);
