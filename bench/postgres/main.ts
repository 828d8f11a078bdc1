/**
 * The web index on percolatordb, compared with PostgreSQL with graphile-worker: `npm run peer --
 * --help`.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { withChildren } from "../harness/child.js";
import { type CommonOptions, runProgram, sayProgress, whole } from "../harness/program.js";
import { ratios, summarize } from "../harness/statistics.js";
import { ProcessWatch } from "../harness/usage.js";
import { limitPages } from "../webindex/sources.js";
import { inFolder, onPostgres } from "./engine.js";
import {
  concludeSide,
  describePeer,
  type FullRun,
  type KillRun,
  type PacedRun,
  type PeerResult,
  processorRatioOf,
  rateOf,
  type SideResult,
} from "./figure.js";
import { PercolatorSide } from "./percolator.js";
import type { Rebuilt } from "./percolator-process.js";
import { PostgresSide } from "./postgres.js";
import { settings } from "./schema.js";
import { postgresVersion } from "./server.js";
import type { Side } from "./side.js";
import { batchOf, limitBatches, type TaskName, tasks } from "./tasks/names.js";

interface Options extends CommonOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly processes: number;
  readonly workers: number;
  readonly concurrency: number;
  readonly batch?: number;
  readonly pages?: number;
  readonly quick: boolean;
}

const sizes = { full: { rounds: 5, seconds: 20 }, quick: { rounds: 1, seconds: 5 } };
const maxPacedRuns = 3;
/** Processes are killed after this share of a full run's time. */
const killAt = 0.4;

await runProgram<Options, PeerResult>({
  name: "peer",
  about:
    "The web index on percolatordb, in a folder and on PostgreSQL, beside the same on PostgreSQL with graphile-worker, and beside a rebuild in memory: pages a " +
    "second, the delay from a page to its being found, and what is left when processes are killed. A PostgreSQL server must be " +
    "installed; it is started in a temporary folder.",
  examples: [
    "peer -- --quick",
    "peer -- --rounds 7 --json peer.json crawl.warc.gz",
    "peer -- --workers 1 --concurrency 16 crawl.warc.gz",
  ],
  wrongIf: "an index differs from the batch twin",
  define: (command) =>
    command
      .argument("[source...]", "web archives or folders (default: the documentation in node_modules)")
      .option(
        "--rounds <number>",
        `times that each side indexes everything (default: ${sizes.full.rounds})`,
        whole,
      )
      .option(
        "--seconds <number>",
        `seconds of load at half speed, at most (default: ${sizes.full.seconds})`,
        whole,
      )
      // Of 1 and 2 processes, 1 is faster for some hundred pages, and 2 are faster for 10,000
      // pages.
      .option(
        "--processes <number>",
        "processes of percolatordb at full speed, the one that loads included",
        whole,
        1,
      )
      // These defaults were the fastest on two processors, of 1 and 2 workers with 4, 8, 16 and 32
      // jobs each.
      .option("--workers <number>", "worker processes of PostgreSQL", whole, 2)
      .option("--concurrency <number>", "jobs of each at a time", whole, 4)
      .option(
        "--batch <number>",
        "the most changes that a job takes; 1: each change is a job (default: the fastest, by task)",
        whole,
      )
      .option("--pages <number>", "the most pages of each source (default: all)", whole)
      .option("--quick", "one round and less load: rougher figures", false),
  complete: (options) => ({ ...(options.quick ? sizes.quick : sizes.full), ...options }),
  measure,
  describe: (result) => [
    ...describePeer(result),
    ...sidesOf(result).flatMap(({ problems }) => problems.map((problem) => `WRONG: ${problem}`)),
  ],
  isRight: (result) => sidesOf(result).every(({ wrong }) => wrong === 0),
});

function sidesOf({ percolator, onServer, postgres }: PeerResult): readonly SideResult[] {
  return [percolator, onServer, postgres];
}

async function measure(options: Options): Promise<PeerResult> {
  const { args: sources, processes, workers, concurrency, rounds, quick, batch, pages } = options;
  if (batch !== undefined) limitBatches(batch);
  if (pages !== undefined) limitPages(pages);
  const sides = [
    new PercolatorSide(inFolder, sources, processes),
    new PercolatorSide(onPostgres, sources, processes),
    new PostgresSide(sources, { workers, concurrency, stuckAfterMs: quick ? 5_000 : 20_000 }),
  ] as const;
  const runs = new Map<Side, FullRun[]>(sides.map((side) => [side, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? sides : sides.toReversed()) {
      sayProgress(`round ${round} of ${rounds}: ${side.name}`);
      runs.get(side)!.push(await side.full());
    }
  }
  const [ours, served, theirs] = sides.map((side) => runs.get(side)!) as [FullRun[], FullRun[], FullRun[]];
  const rebuilt = await rebuild(sources);
  return {
    configuration: {
      postgres: await postgresVersion(),
      graphileWorker: graphileVersion(),
      sources: sources.map((path) => basename(path)),
      rounds,
      batches: Object.fromEntries((Object.keys(tasks) as TaskName[]).map((name) => [name, batchOf(name)])),
      settings,
    },
    pages: ours[0]!.pages,
    percolator: await finish(sides[0], ours, options),
    onServer: await finish(sides[1], served, options),
    postgres: await finish(sides[2], theirs, options),
    rebuild: rebuilt,
    ratio: summarize(ratios(ours.map(rateOf), theirs.map(rateOf))),
    onServerRatio: summarize(ratios(served.map(rateOf), theirs.map(rateOf))),
    processorRatio: processorRatioOf(ours, theirs),
  };
}

/** Runs the measurements whose pace depends on a side's own full speed. */
async function finish(
  side: Side,
  full: readonly FullRun[],
  { seconds, rounds }: Options,
): Promise<SideResult> {
  const delaysAt = (perSecond: number) => {
    sayProgress(`${side.name}: delays at ${perSecond.toFixed(1)} pages/s`);
    return side.paced(perSecond, Math.ceil(perSecond * seconds));
  };
  const fullSpeed = summarize(full.map(rateOf)).median;
  const paced: PacedRun[] = [];
  while (paced.length < Math.min(maxPacedRuns, rounds)) paced.push(await delaysAt(fullSpeed / 2));
  const light = await delaysAt(fullSpeed / 10);
  const afterMs = summarize(full.map((run) => run.seconds)).median * 1_000 * killAt;
  const kills: KillRun[] = [];
  for (const killed of ["one worker", "all processes"] as const) {
    sayProgress(`${side.name}: ${killed} killed`);
    kills.push(await side.kill(killed, afterMs));
  }
  return concludeSide({ full, paced, light, kills });
}

/**
 * Builds the index from scratch in memory, by plain functions without a database. This is the least
 * possible work.
 */
function rebuild(sources: readonly string[]): Promise<PeerResult["rebuild"]> {
  return withChildren(async (start) => {
    const child = start(new URL("./percolator-process.ts", import.meta.url), "The rebuild");
    const watch = new ProcessWatch([child.pid]);
    const { pages, seconds } = await child.ask<Rebuilt>("rebuild", sources);
    return { seconds, pagesPerSecond: pages / seconds, memoryMiB: watch.end().memoryMiB };
  });
}

function graphileVersion(): string {
  const path = new URL("../package.json", import.meta.resolve("graphile-worker"));
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
