/** The web index on percolatordb beside PostgreSQL with graphile-worker. See `npm run peer -- --help`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, platform, release, totalmem } from "node:os";
import { basename, dirname } from "node:path";
import { CommanderError } from "commander";
import { ratios } from "../statistics.js";
import { Child } from "./child.js";
import { describeReport } from "./describe.js";
import { type PeerOptions, parseOptions } from "./options.js";
import { PercolatorSide } from "./percolator.js";
import { PostgresSide, postgresVersion } from "./postgres.js";
import type { Rebuilt } from "./rebuild-process.js";
import {
  type Configuration,
  ceilingMs,
  concludeSide,
  type FullRun,
  floor,
  type Measured,
  type PacedRun,
  type PeerReport,
  processorRatioOf,
  rateOf,
  spreadOf,
} from "./report.js";
import { settings } from "./schema.js";
import type { Side } from "./side.js";
import { batchOf, limitBatches, type TaskName, tasks } from "./tasks/names.js";
import { Usage } from "./usage.js";

/** Runs at half of the full speed, where there are as many rounds. */
const pacedRuns = 3;
/** The part of a whole run after which processes are killed. */
const killAt = 0.4;

const say = (line: string) => process.stdout.write(`${line}\n`);
const progress = (line: string) => process.stderr.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const report = await measure(options);
  say(describeReport(report));
  if (options.json !== undefined) {
    mkdirSync(dirname(options.json), { recursive: true });
    writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
    say(`Written to ${options.json}`);
  }
  return report.percolator.wrong + report.postgres.wrong === 0 ? 0 : 1;
}

async function measure(options: PeerOptions): Promise<PeerReport> {
  const { sources, processes, workers, concurrency, rounds, quick, batch } = options;
  if (batch !== undefined) limitBatches(batch);
  const stuckAfterMs = quick ? 5_000 : 20_000;
  const percolator = new PercolatorSide(sources, processes);
  const postgres = new PostgresSide(sources, { workers, concurrency, stuckAfterMs });
  const ours: FullRun[] = [];
  const theirs: FullRun[] = [];
  for (let round = 1; round <= rounds; round++) {
    const turn = round % 2 === 1 ? [ours, theirs] : [theirs, ours];
    for (const runs of turn) {
      const side = runs === ours ? percolator : postgres;
      const run = await side.full();
      runs.push(run);
      progress(
        `round ${round} of ${rounds}: ${side.name}, ${run.pages} pages, ${rateOf(run).toFixed(1)} pages/s`,
      );
    }
  }
  const rebuilt = await rebuild(sources);
  return {
    configuration: await configurationOf(options),
    pages: ours[0]!.pages,
    percolator: concludeSide(await finish(percolator, ours, options)),
    postgres: concludeSide(await finish(postgres, theirs, options)),
    rebuild: rebuilt,
    ratio: spreadOf(ratios(ours.map(rateOf), theirs.map(rateOf))),
    processorRatio: processorRatioOf(ours, theirs),
    floor,
    ceilingMs,
  };
}

/** What a side's own full speed is the measure of. */
async function finish(
  side: Side,
  full: readonly FullRun[],
  { seconds, rounds }: PeerOptions,
): Promise<Measured> {
  const delaysAt = (perSecond: number) => {
    progress(`${side.name}: delays at ${perSecond.toFixed(1)} pages/s`);
    return side.paced(perSecond, Math.ceil(perSecond * seconds));
  };
  const fullSpeed = spreadOf(full.map(rateOf)).median;
  const paced: PacedRun[] = [];
  while (paced.length < Math.min(pacedRuns, rounds)) paced.push(await delaysAt(fullSpeed / 2));
  const light = await delaysAt(fullSpeed / 10);
  const afterMs = spreadOf(full.map((run) => run.seconds)).median * 1_000 * killAt;
  const kills = [];
  for (const killed of ["one worker", "all processes"] as const) {
    progress(`${side.name}: ${killed} killed`);
    kills.push(await side.kill(killed, afterMs));
  }
  return { full, paced, light, kills };
}

async function rebuild(sources: readonly string[]): Promise<PeerReport["rebuild"]> {
  const child = new Child(new URL("./rebuild-process.ts", import.meta.url), "The rebuild");
  try {
    const usage = new Usage([child.pid]);
    const { pages, seconds } = await child.ask<Rebuilt>("rebuild", sources);
    const { memoryMiB } = usage.end();
    await child.stop();
    return { seconds, pagesPerSecond: pages / seconds, memoryMiB };
  } finally {
    await child.kill();
  }
}

async function configurationOf(options: PeerOptions): Promise<Configuration> {
  const { sources, rounds, processes, workers, concurrency } = options;
  const graphile = new URL("../package.json", import.meta.resolve("graphile-worker"));
  return {
    date: new Date().toISOString(),
    node: process.version,
    postgres: await postgresVersion(),
    graphileWorker: (JSON.parse(readFileSync(graphile, "utf8")) as { version: string }).version,
    system: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cpus: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    sources: sources.map((path) => basename(path)),
    rounds,
    processes,
    workers,
    concurrency,
    batches: Object.fromEntries((Object.keys(tasks) as TaskName[]).map((name) => [name, batchOf(name)])),
    settings,
  };
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return 1;
});
