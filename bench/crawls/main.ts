/**
 * Crawls through a coordinator and workers on Bigtable's emulator, each equal to the batch twin, with requests per document
 * counted. See `npm run crawls -- --help`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { CommanderError } from "commander";
import { type Database, open, type RowStore } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { openSource } from "../../examples/webindex/sources/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import { type Counted, countRequests, difference, sum } from "./counts.js";
import { type CrawlsOptions, parseOptions } from "./options.js";
import { IndexWorker, type Member, startCoordinator } from "./processes.js";
import { type Crawl, describeCrawl, isRight, shareOf } from "./report.js";

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  let emulator: Emulator | undefined;
  if (process.env.BIGTABLE_EMULATOR_HOST === undefined) {
    emulator = await startEmulator();
    process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  }
  const members: Member[] = [];
  try {
    const code = await run(options, members);
    // The coordinator last: the workers' last commits need it.
    for (const member of members.splice(0).reverse()) await member.stop();
    return code;
  } finally {
    for (const member of members) member.kill();
    await emulator?.stop();
  }
}

async function run(options: CrawlsOptions, members: Member[]): Promise<number> {
  const location = `bigtable://bench/crawls?prefix=c${process.pid}`;
  const store = await openBigtableStore(location);
  await store.prepare(["~oracle"]);
  members.push(await startCoordinator(location));
  // It registers the observers, so that what is loaded before a worker has begun is found; it runs none.
  await using db = await open(store, { tables, observers });
  const workers: IndexWorker[] = [];
  for (let number = 1; number <= options.workers; number++) {
    const worker = await IndexWorker.start(location, options.concurrency, number);
    workers.push(worker);
    members.push(worker);
  }
  const crawls: Crawl[] = [];
  for (const source of options.sources) {
    const crawl = await loadCrawl({ db, store, workers }, source);
    crawls.push(crawl);
    say(describeCrawl(crawl));
  }
  const left = await leftBehind(db);
  for (const each of left) say(`left behind: ${each}`);
  if (options.json !== undefined) save(options.json, crawls, left);
  return left.length === 0 && crawls.every(isRight) ? 0 : 1;
}

interface Cluster {
  readonly db: Database;
  readonly store: RowStore;
  readonly workers: readonly IndexWorker[];
}

async function loadCrawl(cluster: Cluster, path: string): Promise<Crawl> {
  const source = await openSource(path);
  const before = await countAll(cluster);
  const start = performance.now();
  const loaded = await loadSource(cluster.db, source);
  await settle(cluster);
  const seconds = (performance.now() - start) / 1_000;
  const since = (await countAll(cluster)).map((counted, index) => difference(counted, before[index]!));
  await using snapshot = await cluster.db.snapshot();
  return {
    source: basename(path),
    loaded,
    seconds,
    requests: sum(since),
    runs: since.slice(1).map(({ runs }) => runs),
    verdicts: await compareWithTwin(snapshot),
  };
}

/**
 * Waits until nothing is due at all. `idle` waits for live workers only, and on a machine that is busy enough one that shows
 * no sign of life for seconds is taken for dead, until it shows one.
 */
async function settle({ db, workers }: Cluster): Promise<void> {
  do {
    await db.idle();
    // Throws where a worker has ended.
    for (const worker of workers) await worker.counted();
  } while (await isDue(db));
}

async function isDue(db: Database): Promise<boolean> {
  for await (const _ of db.pending()) return true;
  return false;
}

/** Of this process, which loads, and of each worker. */
function countAll({ db, workers }: Cluster): Promise<Counted[]> {
  return Promise.all([countRequests(db), ...workers.map((worker) => worker.counted())]);
}

/** What should not be there when nothing is due any more. */
async function leftBehind(db: Database): Promise<readonly string[]> {
  const left = [...(await db.check())].map((problem) => JSON.stringify(problem));
  for await (const { observer, row } of db.pending()) left.push(`${observer} is due on ${row}`);
  for await (const { observer, row, error } of db.parked()) {
    left.push(`${observer} was given up on ${row}: ${error.message}`);
  }
  return left;
}

function save(path: string, crawls: readonly Crawl[], left: readonly string[]): void {
  mkdirSync(dirname(path), { recursive: true });
  const shown = crawls.map((crawl) => ({ ...crawl, share: shareOf(crawl), right: isRight(crawl) }));
  writeFileSync(path, `${JSON.stringify({ crawls: shown, left }, undefined, 2)}\n`);
  say(`Written to ${path}`);
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  console.error(error);
  return 1;
});
