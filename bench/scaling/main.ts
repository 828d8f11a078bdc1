/** Pipelines whose work is in observers, over one worker process and several. See `npm run scaling -- --help`. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { CommanderError } from "commander";
import { open } from "percolatordb";
import type { Done } from "./messages.js";
import { parseOptions, type ScalingOptions } from "./options.js";
import { Others, untilQuiet } from "./others.js";
import { pipelineOf, type Work, worksOf } from "./pipelines.js";
import {
  cpuOf,
  describePipeline,
  describeRound,
  figureOf,
  type PipelineFigure,
  type Round,
  type ScalingReport,
} from "./report.js";
import { firstPages, sourceAt } from "./source.js";
import { WorkerProcess } from "./worker-process.js";

const maxWrong = 10;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const pipelines: PipelineFigure[] = [];
  for (const work of worksOf(options.pipelines, options.functions)) {
    const folder = mkdtempSync(join(options.data ?? tmpdir(), "percolatordb-scaling-"));
    try {
      pipelines.push(await measurePipeline(options, work, folder));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  for (const each of pipelines) say(describePipeline(each));
  if (options.json !== undefined) save(options.json, options, pipelines);
  const rounds = pipelines.flatMap(({ figures }) => figures.flatMap((figure) => figure.rounds));
  return rounds.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
}

function save(path: string, options: ScalingOptions, pipelines: readonly PipelineFigure[]): void {
  const { pages, functions, concurrency, rounds, source } = options;
  const report: ScalingReport = {
    options: { pages, functions, concurrency, rounds, source: source && basename(source) },
    cpus: cpus().length,
    pipelines,
  };
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(report, undefined, 2)}\n`);
}

async function measurePipeline(options: ScalingOptions, work: Work, folder: string): Promise<PipelineFigure> {
  const loaded = join(folder, "loaded");
  const pages = await load(options, work, loaded);
  const rounds: Round[][] = Array.from({ length: options.processes }, () => []);
  for (let round = 1; round <= options.rounds; round++) {
    for (const [index, those] of rounds.entries()) {
      const location = join(folder, "database");
      cpSync(loaded, location, { recursive: true });
      const measured = await measure(options, work, location, index + 1);
      rmSync(location, { recursive: true });
      those.push(measured);
      say(describeRound(work, pages, measured));
    }
  }
  const figures = rounds.map((those, index) => figureOf(index + 1, pages, those, rounds[0]!, cpus().length));
  return { ...work, pages, figures };
}

/** Loads the pages, and leaves all work on them to be done. Answers how many. */
async function load(options: ScalingOptions, work: Work, location: string): Promise<number> {
  const { tables, observers, load } = pipelineOf(work);
  await using db = await open(location, { tables, observers, collectEveryMs: 0 });
  return await load(db, firstPages(await sourceAt(options.source ?? ""), options.pages));
}

async function measure(options: ScalingOptions, work: Work, location: string, count: number): Promise<Round> {
  const { concurrency, source = "", node } = options;
  const workers = Array.from(
    { length: count },
    (_, number) =>
      new WorkerProcess({ ...work, location, number, processes: count, concurrency, source }, node),
  );
  try {
    await Promise.all(workers.map(({ ready }) => ready));
    await untilQuiet(options.wait);
    const timed = await time(workers);
    await Promise.all(workers.map((worker) => worker.end()));
    return { ...timed, wrong: (await wrongIn(work, location)).slice(0, maxWrong) };
  } finally {
    for (const worker of workers) worker.kill();
  }
}

async function time(workers: readonly WorkerProcess[]): Promise<Omit<Round, "wrong">> {
  const others = new Others();
  const began = performance.now();
  const done: readonly Done[] = await Promise.all(workers.map((worker) => worker.work()));
  const seconds = (performance.now() - began) / 1_000;
  return {
    seconds,
    workers: done.map(({ runs, conflicts, use }) => ({ runs, conflicts, use })),
    othersShare: others.share(cpuOf(done.map(({ use }) => use))),
  };
}

async function wrongIn(work: Work, location: string): Promise<readonly string[]> {
  const { tables, observers, wrong } = pipelineOf(work);
  await using db = await open(location, { tables, observers, collectEveryMs: 0 });
  const found = [...(await wrong(db))];
  for await (const { observer, row } of db.pending()) found.push(`${observer} is due on ${row}.`);
  for await (const { observer, row } of db.parked()) found.push(`${observer} was given up on ${row}.`);
  return found;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
