/** Documents clustered as they come, and in batches, as in figure 7 of the paper. See `npm run clustering -- --help`. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { type Database, open } from "percolatordb";
import { RawDatabase } from "../raw.js";
import { quantile } from "../statistics.js";
import { measureBare } from "./bare.js";
import { Crawl } from "./crawl.js";
import { type ClusteringOptions, parseOptions } from "./options.js";
import {
  type BatchFigure,
  type BatchPlace,
  crossoverOf,
  describeMeasured,
  isRight,
  type Measured,
  type RateFigure,
} from "./report.js";
import { joined, Repository } from "./repository.js";
import { batchClusters, clusters, clusterTelling, documents } from "./tables.js";
import { countWrong } from "./verify.js";

const batchRuns = 3;
const batchesPerHour = 3;
/** Percent an hour. */
const wholeHourFrom = 5;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const measured: Measured[] = [];
  for (const size of options.documents) {
    const folder = mkdtempSync(join(options.data ?? tmpdir(), "percolatordb-clustering-"));
    try {
      measured.push(await measure(options, new Repository(size), folder));
      say(describeMeasured(measured.at(-1)!));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  if (options.json !== undefined) write(options.json, `${JSON.stringify(measured, undefined, 2)}\n`);
  return isRight(measured) ? 0 : 1;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

async function measure(
  options: ClusteringOptions,
  repository: Repository,
  folder: string,
): Promise<Measured> {
  const { size } = repository;
  const database = join(folder, "database");
  let crawl: Crawl | undefined;
  const watched = clusterTelling((url) => crawl?.clustered(url));
  const tables = [documents, clusters, batchClusters];
  await using db = await open(database, { tables, observers: [watched] });
  const current = new Crawl(db, repository);
  crawl = current;
  const began = performance.now();
  await current.fill();
  await db.drain();
  const fillPerSecond = (size / (performance.now() - began)) * 1_000;
  const batches: BatchFigure[] = [];
  for (const place of options.batches) {
    if (place === "bare LMDB") await writeBare(repository, folder);
    const runsMs = runBatch(place, place === "bare LMDB" ? folder : database);
    batches.push(await crawlBeside(db, current, options, size, place, runsMs));
  }
  const barePerSecond = await measureBare(repository, folder);
  const wrong = await countWrong(db, current.documents());
  return { documents: size, fillPerSecond, barePerSecond, batches, wrong };
}

/** Crawls at each of the rates, in hours that are so many times as long as a batch. */
async function crawlBeside(
  db: Database,
  crawl: Crawl,
  options: ClusteringOptions,
  size: number,
  place: BatchPlace,
  batchRunsMs: readonly number[],
): Promise<BatchFigure> {
  const batchMs = quantile(batchRunsMs, 0.5);
  const hourSeconds = (batchMs * batchesPerHour) / 1_000;
  const rates: RateFigure[] = [];
  await using _ = db.work();
  for (const percent of options.rates) {
    const perSecond = (size * percent) / 100 / hourSeconds;
    // What may not keep up gets its whole hour: the longer it lasts, the longer documents wait.
    const seconds = percent < wholeHourFrom ? Math.min(hourSeconds, options.seconds) : hourSeconds;
    const { delays, late, loaded } = await crawl.run(perSecond, seconds);
    const [p5, p50, p95] = [0.05, 0.5, 0.95].map((part) => quantile(delays, part)) as [
      number,
      number,
      number,
    ];
    rates.push({ percent, perSecond, loaded, late, p5, p50, p95 });
    say(
      `  ${size} documents, ${place}, ${percent} %: ${perSecond.toFixed(1)}/s, p50 ${p50.toFixed(1)} ms, ${late} of ${loaded} late`,
    );
  }
  return {
    place,
    batchMs,
    batchRunsMs,
    hourSeconds,
    rates,
    crossover: crossoverOf({ rates, batchMs }),
  };
}

/** The same documents in an LMDB of their own. */
async function writeBare(repository: Repository, folder: string): Promise<void> {
  const raw = new RawDatabase(join(folder, "documents"));
  const table = raw.table("documents");
  for (let first = 0; first < repository.size; first += 50_000) {
    const count = Math.min(50_000, repository.size - first);
    raw.load(
      Array.from({ length: count }, (_, index) => ({
        table,
        key: Buffer.from(repository.url(first + index)),
        value: Buffer.from(joined(repository.keys(first + index, 0))),
      })),
    );
  }
  await raw.close();
}

/** How long each of some batches over all documents takes, in milliseconds, ascending. */
function runBatch(place: BatchPlace, folder: string): readonly number[] {
  const script = fileURLToPath(new URL("twin.ts", import.meta.url));
  const args = ["--import", "tsx", script, place, folder, String(batchRuns)];
  const child = spawnSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (child.status !== 0) throw new Error(`The batch ended with code ${child.status}.`);
  return (JSON.parse(child.stdout) as number[]).sort((a, b) => a - b);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
