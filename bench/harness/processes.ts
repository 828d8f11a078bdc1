import { cpus } from "node:os";
import { maxOthersShare, Others, untilQuiet } from "./machine.js";
import { sayProgress, secondsSince } from "./program.js";
import { ratios, type Summary, summarize } from "./statistics.js";
import { cpuSeconds, cpuSecondsOf, type Use } from "./usage.js";

/**
 * Runs the same work in one process and in several. Shared by the brokerage and the pipelines of
 * `npm run scaling`.
 */

/** One round with one number of processes. */
export interface Round {
  /** From the first piece of work until nothing is due. */
  readonly seconds: number;
  /** Pieces of work done, such as transactions or pages. */
  readonly done: number;
  readonly uses: readonly Use[];
  /** The processor time of the server, which counts as the measurement's own. */
  readonly serverCpuSeconds?: number | undefined;
  /**
   * The share of the processors that other programs used meanwhile. Undefined if the system does
   * not report it.
   */
  readonly othersShare?: number | undefined;
  /** The first few errors in the results. */
  readonly wrong: readonly string[];
}

/** All rounds with one number of processes. */
export interface Scaled<R extends Round = Round> {
  readonly processes: number;
  readonly perSecond: Summary;
  /** The time of one process for the same work divided by this time, in each round. */
  readonly factor: Summary;
  readonly cpuSeconds: Summary;
  readonly rounds: readonly R[];
}

/** The most errors to keep. */
export const maxWrong = 10;

/**
 * Measures with 1 to `processes` processes in turns, round by round, so that a slow phase of the
 * machine affects all.
 */
export async function overProcesses<R extends Round>(
  { processes, rounds }: { readonly processes: number; readonly rounds: number },
  measure: (processes: number, round: number) => Promise<R>,
): Promise<readonly Scaled<R>[]> {
  const all: R[][] = Array.from({ length: processes }, () => []);
  for (let round = 1; round <= rounds; round++) {
    for (const [index, those] of all.entries()) {
      sayProgress(`round ${round} of ${rounds}, ${namedProcesses(index + 1)}`);
      those.push(await measure(index + 1, round));
    }
  }
  return all.map((those, index) => scaledOf(index + 1, those, all[0]!));
}

/** Compares `rounds` with `one`, the rounds with one process. Both were measured in turns. */
export function scaledOf<R extends Round>(
  processes: number,
  rounds: readonly R[],
  one: readonly R[],
): Scaled<R> {
  const seconds = (of: readonly R[]) => of.map((round) => round.seconds);
  return {
    processes,
    perSecond: summarize(rounds.map((round) => round.done / round.seconds)),
    factor: summarize(ratios(seconds(one), seconds(rounds))),
    cpuSeconds: summarize(rounds.map(cpuOf)),
    rounds,
  };
}

const nearlyAll = 0.85;
const muchWaiting = 0.25;

/** Names the measured resource that is nearest to its limit. */
export function boundOf(rounds: readonly Round[], processors = cpus().length): string {
  const median = (of: (round: Round) => number) => summarize(rounds.map(of)).median;
  const highest = (of: (use: Use) => number) => median(({ uses }) => Math.max(0, ...uses.map(of)));
  if (median(({ othersShare = 0 }) => othersShare) > maxOthersShare)
    return "other programs, so that the factor says nothing";
  if (median((round) => cpuOf(round) / round.seconds / processors) >= nearlyAll) return "all processors";
  if (highest(({ lockWaitShare = 0 }) => lockWaitShare) >= muchWaiting) return "LMDB's write lock";
  if (highest(({ loopShare }) => loopShare) >= nearlyAll) return "the busiest event loop";
  return "waiting: for flushes, and for the end";
}

function cpuOf({ uses, serverCpuSeconds = 0 }: Round): number {
  return uses.reduce((sum, use) => sum + use.cpuSeconds, serverCpuSeconds);
}

/**
 * Waits until the machine is quiet, then times the work. `work` returns what each process used.
 * `servers` are the processes that work for them.
 */
export async function timed<T extends { readonly use: Use }>(
  waitSeconds: number,
  work: () => Promise<readonly T[]>,
  servers: readonly number[] = [],
): Promise<
  { readonly answers: readonly T[] } & Pick<Round, "seconds" | "uses" | "serverCpuSeconds" | "othersShare">
> {
  await untilQuiet(waitSeconds);
  const [others, cpu, server, began] = [
    new Others(),
    process.cpuUsage(),
    cpuSecondsOf(servers),
    performance.now(),
  ];
  const answers = await work();
  const seconds = secondsSince(began);
  const uses = answers.map(({ use }) => use);
  const serverCpuSeconds = cpuSecondsOf(servers) - server;
  const own = uses.reduce((sum, use) => sum + use.cpuSeconds, cpuSeconds(cpu) + serverCpuSeconds);
  return { answers, seconds, uses, serverCpuSeconds, othersShare: others.share(own) };
}

export function namedProcesses(count: number): string {
  return count === 1 ? "1 process" : `${count} processes`;
}

/** Describes rounds in words: what each process used, the limiting resource, and errors. */
export function describeScaled(name: string, { processes, rounds }: Scaled): string {
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  const median = (of: (use: Use) => number | undefined) =>
    percent(summarize(rounds.flatMap(({ uses }) => uses.map((use) => of(use) ?? 0))).median);
  return [
    `${name}, ${namedProcesses(processes)}: event loops busy ${median(({ loopShare }) => loopShare)}, ` +
      `waiting for LMDB's write lock ${median(({ lockWaitShare }) => lockWaitShare)}, ` +
      `flushing ${median(({ flushShare }) => flushShare)}; bound by ${boundOf(rounds)}`,
    ...rounds.flatMap(({ wrong }) => wrong.map((line) => `  WRONG: ${line}`)),
  ].join("\n");
}

export function isRight(figures: readonly Scaled[]): boolean {
  return figures.every(({ rounds }) => rounds.every(({ wrong }) => wrong.length === 0));
}
