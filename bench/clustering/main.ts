/** Documents clustered as they come, and in batches, as in figure 7 of the paper. See `npm run clustering -- --help`. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { type Database, observer, open } from "percolatordb";
import { RawDatabase } from "../raw.js";
import { quantile } from "../statistics.js";
import { drawClustering } from "./chart.js";
import { Crawl } from "./crawl.js";
import { type ClusteringOptions, parseOptions } from "./options.js";
import type { Measured, RateFigure } from "./report.js";
import { crossoverOf, describeMeasured } from "./report.js";
import { clustersOf, joined, Repository } from "./repository.js";
import { cluster, clusters, documents } from "./tables.js";

const batchRuns = 3;
const batchesPerHour = 3;

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
  write(options.svg, drawClustering(measured));
  if (options.json !== undefined) write(options.json, `${JSON.stringify(measured, undefined, 2)}\n`);
  return measured.every(({ wrong }) => wrong === 0) ? 0 : 1;
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
  const batchMs = await runBatch(repository, join(folder, "batch"));
  const hourSeconds = (batchMs * batchesPerHour) / 1_000;
  let crawl: Crawl | undefined;
  const watched = observer("cluster", documents.keys, async (tx, change) => {
    await cluster.run(tx, change);
    tx.onCommit(() => crawl?.clustered(change.row));
  });
  await using db = await open(join(folder, "database"), {
    tables: [documents, clusters],
    observers: [watched],
  });
  const current = new Crawl(db, repository);
  crawl = current;
  const began = performance.now();
  await current.fill();
  await db.drain();
  const fillSeconds = (performance.now() - began) / 1_000;
  const worker = db.work();
  const rates: RateFigure[] = [];
  for (const percent of options.rates) {
    const perSecond = (repository.size * percent) / 100 / hourSeconds;
    const { delays, late, loaded } = await current.run(perSecond, Math.min(hourSeconds, options.seconds));
    rates.push({
      percent,
      perSecond,
      loaded,
      late,
      p5: quantile(delays, 0.05),
      p50: quantile(delays, 0.5),
      p95: quantile(delays, 0.95),
    });
    say(
      `  ${repository.size} documents, ${percent} %: ${perSecond.toFixed(1)}/s, p50 ${quantile(delays, 0.5).toFixed(1)} ms`,
    );
    await db.idle();
  }
  await worker.stop();
  const wrong = await countWrong(db);
  const { size } = repository;
  const figures = { documents: size, batchMs, hourSeconds, fillPerSecond: size / fillSeconds, rates, wrong };
  return { ...figures, crossover: crossoverOf(figures) };
}

/** The same documents in an LMDB of their own, and how long a batch over all of them takes; the median of some. */
async function runBatch(repository: Repository, folder: string): Promise<number> {
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
  const script = fileURLToPath(new URL("twin.ts", import.meta.url));
  const args = ["--import", "tsx", script, folder, String(batchRuns)];
  const child = spawnSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (child.status !== 0) throw new Error(`The batch ended with code ${child.status}.`);
  const took = (JSON.parse(child.stdout) as number[]).sort((a, b) => a - b);
  return quantile(took, 0.5);
}

/** Clusters that are not what a batch makes of the documents as they stand. */
async function countWrong(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  const all: (readonly [string, string])[] = [];
  for await (const { row, value } of snapshot.scan(documents.keys)) all.push([row, value]);
  const expected = clustersOf(all);
  let wrong = 0;
  for await (const { row, value } of snapshot.scan(clusters.members)) {
    if (expected.get(row)?.join(" ") !== value) wrong++;
    expected.delete(row);
  }
  return wrong + expected.size;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
