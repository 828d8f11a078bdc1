/**
 * The batch twin, a process of its own: reads every document from an LMDB and writes every cluster into it, as fast as that goes without a
 * database above it. `twin.ts FOLDER RUNS`; prints the milliseconds of each run as JSON.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { RawDatabase } from "../raw.js";
import { clustersOf, joined } from "./repository.js";

const putsAtOnce = 50_000;

async function run(folder: string, number: number): Promise<number> {
  const out = join(folder, `run-${number}`);
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

const [folder, runs] = process.argv.slice(2);
const took: number[] = [];
for (let number = 1; number <= Number(runs); number++) took.push(await run(folder!, number));
process.stdout.write(`${JSON.stringify(took)}\n`);
