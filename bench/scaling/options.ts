import { Command, InvalidArgumentError } from "commander";
import { type PipelineName, pipelineNames } from "./pipelines.js";

export interface ScalingOptions {
  readonly pipelines: readonly PipelineName[];
  /** Measured with each number of worker processes up to this. */
  readonly processes: number;
  readonly rounds: number;
  /** Pages that are loaded, at the most. */
  readonly pages: number;
  /** Hash functions of a signature; pipelines that compute signatures are measured with each number of them. */
  readonly functions: readonly number[];
  /** Runs of each worker at a time. */
  readonly concurrency: number;
  /** A web archive or a folder; undefined for the documentation under `node_modules`. */
  readonly source: string | undefined;
  /** Seconds that each round waits at the most until others leave the machine alone. */
  readonly wait: number;
  readonly data: string | undefined;
  readonly json: string | undefined;
  /** Flags of node's for the workers. */
  readonly node: readonly string[];
}

const example = `
Pipelines:
  compute   no database: each process computes the signatures of its share of the pages; what the machine itself gives
  minhash   an observer that computes a page's signature, a millisecond for about 2,000 functions, and writes it
  webindex  the web index: HTML, words, links, ranks, clusters of duplicates, postings

Examples:
  $ npm run scaling
  $ npm run scaling -- crawl.warc.gz --pages 5000 --rounds 5 --json scaling.json
  $ npm run scaling -- --pipelines webindex --rounds 1 --node=--cpu-prof

The exit code is 1 where a pipeline's results are not what they must be, 2 for wrong usage, else 0.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): ScalingOptions {
  const command = new Command("scaling")
    .description(
      "Pages that have been loaded are worked on by one worker process and by several on one embedded database (the paper's figure 9): " +
        "pages a second, their factor, and what each process used.",
    )
    .argument("[source]", "a web archive or a folder (default: the documentation under node_modules)")
    .option("--pipelines <list>", "which, in their order", pipelines, pipelineNames)
    .option("--processes <number>", "up to so many workers", whole, 2)
    .option("--rounds <number>", "rounds, each with every number of workers", whole, 3)
    .option("--pages <number>", "pages that are loaded, at the most", whole, 4_000)
    .option(
      "--functions <list>",
      "hash functions of a signature, one measurement for each",
      wholes,
      [2_048, 16_384],
    )
    .option("--concurrency <number>", "runs of each worker at a time", whole, 64)
    .option(
      "--wait <seconds>",
      "before each round, at the most, until others leave the machine alone",
      wholeOrNone,
      0,
    )
    .option("--data <folder>", "where to make the databases (default: a temporary folder)")
    .option("--json <file>", "where to write the report")
    .option("--node <flag>", "a flag of node's for the workers; may be repeated", gather, [])
    .addHelpText("after", example)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const options = command.opts<Omit<ScalingOptions, "source" | "data" | "json"> & Partial<ScalingOptions>>();
  return { ...options, source: command.args[0], data: options.data, json: options.json };
}

function pipelines(text: string): readonly PipelineName[] {
  return text.split(",").map((name) => {
    const found = pipelineNames.find((each) => each === name);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`There are ${pipelineNames.join(", ")}.`);
  });
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

function wholes(text: string): readonly number[] {
  return text.split(",").map(whole);
}

function wholeOrNone(text: string): number {
  return text === "0" ? 0 : whole(text);
}

function gather(flag: string, before: readonly string[]): readonly string[] {
  return [...before, flag];
}
