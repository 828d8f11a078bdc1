/**
 * Documents clustered as they arrive, and in batches, as in figure 7 of the paper: `npm run
 * clustering -- --help`.
 */
import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { askOnce } from "../harness/child.js";
import {
  between,
  type CommonOptions,
  list,
  oneOf,
  runProgram,
  sayProgress,
  whole,
  withFolder,
} from "../harness/program.js";
import { loadRaw, RawDatabase } from "../harness/raw.js";
import { quantile } from "../harness/statistics.js";
import { measureBare } from "./bare.js";
import type { BatchTask } from "./batch.js";
import { Crawl } from "./crawl.js";
import {
  type BatchFigure,
  type BatchPlace,
  type Clustered,
  clusteringTables,
  crossoverOf,
  type RateFigure,
} from "./figure.js";
import { Repository } from "./repository.js";
import { batchClusters, clusters, clusterTelling, documents } from "./tables.js";
import { countWrong } from "./verify.js";

interface Options extends CommonOptions {
  readonly documents: readonly number[];
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly batch: "same" | "bare" | "both";
}

const batchRuns = 3;
const batchesPerHour = 3;
/**
 * At this rate in percent an hour and above, a measurement lasts a whole hour. If the database
 * cannot keep up with a rate, the delay grows with time, so a shorter measurement would show too
 * small a delay.
 */
const wholeHourFrom = 5;
const places: Readonly<Record<Options["batch"], readonly BatchPlace[]>> = {
  same: ["same database"],
  bare: ["bare LMDB"],
  both: ["same database", "bare LMDB"],
};

await runProgram<Options, readonly Clustered[]>({
  name: "clustering",
  about:
    "Clusters documents as they are crawled, and in batches: the delay of each against the rate of the crawl (the paper's " +
    "figure 7). An hour is three times as long as the batch takes.",
  examples: ["clustering", "clustering -- --documents 10000 --rates 1,10 --batch same"],
  wrongIf: "a document or a cluster is wrong in the end",
  define: (command) =>
    command
      .option("--documents <list>", "documents of the repositories", list(whole), [10_000, 100_000])
      .option(
        "--rates <list>",
        // The limit is 100 because only one delay of each document is recorded. Above 100, some
        // documents would be crawled twice in an hour.
        "percent of the repository that is crawled in an hour, up to 100",
        list(between(0, 100)),
        [0.1, 1, 10, 20, 40, 60, 80, 100],
      )
      .option("--seconds <number>", "seconds of load for each rate, at most", between(0, 86_400), 20)
      .option(
        "--batch <place>",
        "where the batch reads and writes: same, the database that serves the readers; bare, an LMDB of its own; both",
        oneOf(["same", "bare", "both"]),
        "both",
      ),
  async measure(options) {
    const all: Clustered[] = [];
    for (const size of options.documents)
      all.push(
        await withFolder(
          "clustering",
          (folder) => measure(options, new Repository(size), folder),
          options.data,
        ),
      );
    return all;
  },
  describe: clusteringTables,
  isRight: (all) => all.every(({ wrong }) => wrong === 0),
});

async function measure(options: Options, repository: Repository, folder: string): Promise<Clustered> {
  const { size } = repository;
  const database = join(folder, "database");
  let onClustered = (_: string) => {};
  const observers = [clusterTelling((url) => onClustered(url))];
  await using db = await open(database, { tables: [documents, clusters, batchClusters], observers });
  const crawl = new Crawl(db, repository);
  onClustered = (url) => crawl.clustered(url);
  sayProgress(`${size} documents: filling`);
  const began = performance.now();
  await crawl.fill();
  await db.drain();
  const fillPerSecond = (size / (performance.now() - began)) * 1_000;
  const batches: BatchFigure[] = [];
  for (const place of places[options.batch]) {
    if (place === "bare LMDB") await writeBare(repository, folder);
    sayProgress(`${size} documents: batches, ${place}`);
    const task: BatchTask = { place, folder: place === "bare LMDB" ? folder : database, runs: batchRuns };
    const script = new URL("./batch.ts", import.meta.url);
    const batchRunsMs = await askOnce<readonly number[]>(script, "The batch", "run", task);
    batches.push({ place, batchRunsMs, ...(await crawlBeside(db, crawl, options, size, batchRunsMs)) });
  }
  const barePerSecond = await measureBare(repository, folder);
  const wrong = await countWrong(db, crawl.documents());
  return { documents: size, fillPerSecond, barePerSecond, batches, wrong };
}

/** Runs crawls at each of the rates. */
async function crawlBeside(
  db: Database,
  crawl: Crawl,
  options: Options,
  size: number,
  batchRunsMs: readonly number[],
): Promise<Omit<BatchFigure, "place" | "batchRunsMs">> {
  const batchMs = quantile(batchRunsMs, 0.5);
  const hourSeconds = (batchMs * batchesPerHour) / 1_000;
  const rates: RateFigure[] = [];
  await using _ = db.work();
  for (const percent of options.rates) {
    sayProgress(`${size} documents: ${percent} %`);
    const perSecond = (size * percent) / 100 / hourSeconds;
    const seconds = percent < wholeHourFrom ? Math.min(hourSeconds, options.seconds) : hourSeconds;
    const { delays, late, loaded } = await crawl.run(perSecond, seconds);
    const [p5, p50, p95] = [quantile(delays, 0.05), quantile(delays, 0.5), quantile(delays, 0.95)];
    rates.push({ percent, perSecond, loaded, late, p5, p50, p95 });
  }
  return { batchMs, hourSeconds, rates, crossover: crossoverOf({ rates, batchMs }) };
}

/** Writes the same documents into a separate LMDB. */
async function writeBare(repository: Repository, folder: string): Promise<void> {
  const raw = new RawDatabase(join(folder, "documents"));
  loadRaw(raw, "documents", repository.documents());
  await raw.close();
}
