import { ratios, type Summary, summarize } from "../statistics.js";
import type { Done } from "./messages.js";
import type { ScalingOptions } from "./options.js";
import type { Work } from "./pipelines.js";
import { describeOthers, describeUse, type ProcessUse } from "./usage.js";

/** What `npm run scaling -- --json` writes. */
export interface ScalingReport {
  /** The source without its folder. */
  readonly options: Pick<ScalingOptions, "pages" | "functions" | "concurrency" | "rounds" | "source">;
  readonly cpus: number;
  readonly pipelines: readonly PipelineFigure[];
}

export interface PipelineFigure extends Work {
  /** How many were loaded. */
  readonly pages: number;
  /** One for each number of workers, ascending. */
  readonly figures: readonly WorkersFigure[];
}

/** All rounds with one number of workers. */
export interface WorkersFigure {
  readonly workers: number;
  readonly pagesPerSecond: Summary;
  /** The time of one worker for the same work, over this one, round by round. */
  readonly factor: Summary;
  /** CPU seconds of all workers for the work. */
  readonly cpuSeconds: Summary;
  /** The part of all CPUs that the workers took; near 1 more of them cannot be faster. */
  readonly cpuShare: Summary;
  /** What of the rounds' figures is nearest to its limit, in words. */
  readonly bound: string;
  readonly rounds: readonly Round[];
}

/** One round with one number of workers. */
export interface Round {
  /** From the word to begin until nothing was due any more. */
  readonly seconds: number;
  readonly workers: readonly Pick<Done, "runs" | "conflicts" | "use">[];
  /** The part of all CPUs that other programs took meanwhile; undefined where the system does not tell. */
  readonly othersShare?: number | undefined;
  /** What is not as it must be, the first few. */
  readonly wrong: readonly string[];
}

export function figureOf(
  workers: number,
  pages: number,
  rounds: readonly Round[],
  one: readonly Round[],
  cpus: number,
): WorkersFigure {
  const seconds = (of: readonly Round[]) => of.map((round) => round.seconds);
  const cpuSeconds = rounds.map((round) => cpuOf(round.workers.map(({ use }) => use)));
  const cpuShare = summarize(ratios(cpuSeconds, seconds(rounds)).map((share) => share / cpus));
  return {
    workers,
    pagesPerSecond: summarize(seconds(rounds).map((each) => pages / each)),
    factor: summarize(ratios(seconds(one), seconds(rounds))),
    cpuSeconds: summarize(cpuSeconds),
    cpuShare,
    bound: boundOf(rounds, cpuShare.median),
    rounds,
  };
}

/** Others that take more make a factor meaningless. */
const muchOfOthers = 0.1;
const nearlyAll = 0.85;
const muchWaiting = 0.25;

function boundOf(rounds: readonly Round[], cpuShare: number): string {
  const median = (of: (round: Round) => number) => summarize(rounds.map(of)).median;
  const others = median(({ othersShare }) => othersShare ?? 0);
  const busiest = median(({ workers }) => Math.max(...workers.map(({ use }) => use.loopUtilisation)));
  const lock = median(({ workers }) =>
    Math.max(...workers.map(({ use }) => use.writing?.lockWaitShare ?? 0)),
  );
  if (others > muchOfOthers) return "other programs, so that the factor says nothing";
  if (cpuShare >= nearlyAll) return "all CPUs";
  if (lock >= muchWaiting) return "LMDB's write lock";
  if (busiest >= nearlyAll) return "the busiest worker's event loop";
  return "waiting: for flushes, and for the end";
}

export function cpuOf(uses: readonly ProcessUse[]): number {
  return uses.reduce((sum, { userSeconds, systemSeconds }) => sum + userSeconds + systemSeconds, 0);
}

/** A round in words. */
export function describeRound(work: Work, pages: number, round: Round): string {
  const { seconds, workers, othersShare, wrong } = round;
  return [
    `${nameOf(work)}, ${named(workers.length)}: ${(pages / seconds).toFixed(0)} pages/s; ${pages} in ${seconds.toFixed(2)} s` +
      describeOthers(othersShare),
    ...workers.map(
      ({ runs, conflicts, use }) => `  ${runs} runs, ${conflicts} in conflict; ${describeUse(use)}`,
    ),
    ...wrong.map((line) => `  WRONG: ${line}`),
  ].join("\n");
}

/** All rounds of a pipeline in words. */
export function describePipeline(pipeline: PipelineFigure): string {
  return pipeline.figures
    .map(({ workers, pagesPerSecond, factor, cpuSeconds, cpuShare, bound }) => {
      const { median, low, high, count } = pagesPerSecond;
      return (
        `${nameOf(pipeline)}, ${named(workers)}: ${median.toFixed(0)} pages/s, median of ${count} (quartiles ${low.toFixed(0)} to ` +
        `${high.toFixed(0)}); ${factor.median.toFixed(2)} times one (${factor.low.toFixed(2)} to ${factor.high.toFixed(2)}); ` +
        `CPU ${cpuSeconds.median.toFixed(1)} s, ${(cpuShare.median * 100).toFixed(0)} % of the machine; bound by ${bound}`
      );
    })
    .join("\n");
}

function nameOf({ pipeline, functions }: Work): string {
  return functions === undefined ? pipeline : `${pipeline} of ${functions} functions`;
}

function named(workers: number): string {
  return workers === 1 ? "1 worker" : `${workers} workers`;
}
