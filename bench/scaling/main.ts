/**
 * Pipelines whose work is in observers, with one worker process and several: `npm run scaling --
 * --help`.
 */
import { cpSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { open } from "percolatordb";
import { withChildren } from "../harness/child.js";
import { describeScaled, isRight, maxWrong, overProcesses, type Round, timed } from "../harness/processes.js";
import {
  atLeast,
  type CommonOptions,
  list,
  oneOf,
  repeated,
  runProgram,
  whole,
  withFolder,
} from "../harness/program.js";
import type { Use } from "../harness/usage.js";
import { firstPages, openSources } from "../webindex/sources.js";
import { nameOf, type PipelineFigure, rateTable, type ScalingResult } from "./figure.js";
import { type PipelineName, pipelineNames, pipelineOf, type Work } from "./pipelines.js";
import type { Opening } from "./process.js";

interface Options extends CommonOptions {
  readonly pipelines: readonly PipelineName[];
  readonly processes: number;
  readonly rounds: number;
  readonly pages: number;
  readonly functions: readonly number[];
  readonly concurrency: number;
  readonly wait: number;
  readonly node: readonly string[];
}

await runProgram<Options, ScalingResult>({
  name: "scaling",
  about: `Pages that have been loaded are worked on by one worker process and by several on one embedded database (the paper's
figure 9): pages a second, their factor, and what each process used.

Pipelines:
  compute   no database: each process computes the signatures of its share of the pages; what the machine itself gives
  minhash   an observer that computes a page's signature, a millisecond for about 2,000 functions, and writes it
  webindex  the web index: HTML, words, links, ranks, clusters of duplicates, postings`,
  examples: [
    "scaling",
    "scaling -- crawl.warc.gz --pages 5000 --rounds 5 --json scaling.json",
    "scaling -- --pipelines webindex --rounds 1 --node=--cpu-prof",
  ],
  wrongIf: "a pipeline's results are not what they must be",
  define: (command) =>
    command
      .argument("[source]", "a web archive or a folder (default: the documentation under node_modules)")
      .option("--pipelines <list>", "which, in their order", list(oneOf(pipelineNames)), [...pipelineNames])
      .option("--processes <number>", "measure with 1 to this many", whole, 2)
      .option("--rounds <number>", "rounds, each with every number of processes", whole, 3)
      .option("--pages <number>", "pages that are loaded, at most", whole, 4_000)
      .option(
        "--functions <list>",
        "hash functions of a signature, one measurement each",
        list(whole),
        [2_048, 16_384],
      )
      .option("--concurrency <number>", "runs of each worker at a time", whole, 64)
      .option("--wait <seconds>", "wait before each round until the machine is quiet, at most", atLeast(0), 0)
      .option("--node <flag>", "a flag of Node for the processes; may be repeated", repeated(String), []),
  async measure(options) {
    const works = options.pipelines.flatMap((pipeline): Work[] =>
      pipeline === "webindex"
        ? [{ pipeline }]
        : options.functions.map((functions) => ({ pipeline, functions })),
    );
    const pipelines: PipelineFigure[] = [];
    for (const work of works)
      pipelines.push(
        await withFolder("scaling", (folder) => measurePipeline(options, work, folder), options.data),
      );
    const { pages, functions, concurrency, rounds, args } = options;
    const source = args[0] && basename(args[0]);
    return { options: { pages, functions, concurrency, rounds, source }, pipelines };
  },
  describe: ({ pipelines }) => [
    rateTable(pipelines),
    pipelines
      .flatMap((each) => each.figures.map((figure) => describeScaled(nameOf(each), figure)))
      .join("\n"),
  ],
  isRight: ({ pipelines }) => pipelines.every(({ figures }) => isRight(figures)),
});

async function measurePipeline(options: Options, work: Work, folder: string): Promise<PipelineFigure> {
  const [loaded, location] = [join(folder, "loaded"), join(folder, "database")];
  const pages = await load(options, work, loaded);
  const figures = await overProcesses(options, async (processes) => {
    cpSync(loaded, location, { recursive: true });
    const round = await measure(options, work, location, processes);
    rmSync(location, { recursive: true });
    return { ...round, done: pages };
  });
  return { ...work, pages, figures };
}

/** Loads the pages without running any observer on them. Resolves to their number. */
async function load({ args, pages }: Options, work: Work, location: string): Promise<number> {
  const { tables, observers, load: loadInto } = pipelineOf(work);
  await using db = await open(location, { tables, observers, collectEveryMs: 0 });
  return await loadInto(db, firstPages((await openSources(args))[0]!, pages));
}

async function measure(
  { concurrency, args: sources, node, pages, wait }: Options,
  work: Work,
  location: string,
  processes: number,
): Promise<Omit<Round, "done">> {
  const { answers: _, ...time } = await withChildren(async (start) => {
    const children = Array.from({ length: processes }, () =>
      start(new URL("./process.ts", import.meta.url), "A process of the pipeline", { node }),
    );
    const opening = { ...work, location, processes, concurrency, sources, pages };
    await Promise.all(
      children.map((child, number) => child.ask("open", { ...opening, number } satisfies Opening)),
    );
    return timed(wait, () => Promise.all(children.map((child) => child.ask<{ use: Use }>("work"))));
  });
  const { tables, observers, wrong } = pipelineOf(work);
  await using db = await open(location, { tables, observers, collectEveryMs: 0 });
  return { ...time, wrong: (await wrong(db)).slice(0, maxWrong) };
}
