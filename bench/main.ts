/** Measures percolatordb against the LMDB beneath it. See `npm run bench -- --help`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { bigtable } from "./cases/bigtable.js";
import { client } from "./cases/client.js";
import { collection } from "./cases/collection.js";
import { delay } from "./cases/delay.js";
import { hot } from "./cases/hot.js";
import { importing } from "./cases/import.js";
import { notifications } from "./cases/notifications.js";
import { oracle } from "./cases/oracle.js";
import { pipeline } from "./cases/pipeline.js";
import { reads } from "./cases/reads.js";
import { scans } from "./cases/scans.js";
import { transactions } from "./cases/transactions.js";
import { wire } from "./cases/wire.js";
import { Bench, type BenchCase, type CaseResult } from "./context.js";
import { type Configuration, describeConfiguration } from "./machine.js";
import { type BenchOptions, parseOptions } from "./options.js";
import { printComparison, printConfiguration, printFigure, printHeading } from "./report.js";

const cases: readonly BenchCase[] = [
  reads,
  scans,
  transactions,
  delay,
  notifications,
  collection,
  pipeline,
  bigtable,
  client,
  hot,
  wire,
  oracle,
  importing,
];
const valueBytes = [100, 1_000];

interface Results {
  readonly configuration: Configuration;
  readonly cases: Record<string, CaseResult | { readonly error: string }>;
}

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args, cases);
  const configuration = describeConfiguration(options, valueBytes);
  console.log(`${printConfiguration(configuration)}\n`);
  const results: Results = { configuration, cases: {} };
  const folder = mkdtempSync(join(options.data ?? tmpdir(), "percolatordb-bench-"));
  let failed = 0;
  try {
    const bench = new Bench(options, folder, say);
    for (const each of cases) {
      if (options.only.length > 0 && !options.only.includes(each.name)) continue;
      if (!(await runCase(each, bench, results))) failed++;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const path = save(results, options);
  console.log(`\nWritten to ${path}`);
  return failed === 0 ? 0 : 1;
}

async function runCase(each: BenchCase, bench: Bench, results: Results): Promise<boolean> {
  console.log(`${each.name}: ${each.about}`);
  try {
    const result = await each.run(bench);
    results.cases[each.name] = result;
    say("");
    if (result.comparisons.length > 0) console.log(printHeading());
    for (const comparison of result.comparisons) console.log(printComparison(comparison));
    for (const figure of result.figures) console.log(printFigure(figure));
    console.log();
    return true;
  } catch (error) {
    say("");
    results.cases[each.name] = { error: String(error) };
    console.error(`${each.name} failed:`, error);
    return false;
  }
}

/** Says on a terminal what is being done, in a line that is written over. */
function say(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
}

function save(results: Results, options: BenchOptions): string {
  const name = `${results.configuration.date.replaceAll(":", "-")}.json`;
  const path = options.json ?? join(fileURLToPath(new URL("results", import.meta.url)), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, undefined, 2)}\n`);
  return path;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  console.error(error);
  return 1;
});
