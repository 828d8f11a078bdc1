import type { RequestMetrics } from "percolatordb";
import { describeOthers, describeUse, type ProcessUse } from "../scaling/usage.js";
import { ratios, type Summary, summarize } from "../statistics.js";
import type { Done } from "./messages.js";
import type { BrokerageOptions } from "./options.js";

/** What `npm run brokerage -- --json` writes. */
export interface BrokerageReport {
  readonly options: Pick<
    BrokerageOptions,
    "store" | "transactions" | "ahead" | "clients" | "concurrency" | "rounds"
  >;
  readonly cpus: number;
  /** One for each number of processes, ascending. */
  readonly figures: readonly ProcessesFigure[];
}

/** All rounds with one number of processes. */
export interface ProcessesFigure {
  readonly processes: number;
  /** Of customers, of the market and of observers. */
  readonly transactionsPerSecond: Summary;
  /** The time of one process for the same work, over this one, round by round. */
  readonly factor: Summary;
  readonly rounds: readonly Round[];
}

/** One round with one number of processes. */
export interface Round {
  /** From the first transaction until nothing was due any more. */
  readonly seconds: number;
  readonly customers: number;
  /** Runs of observers that committed. */
  readonly runs: number;
  /** Of all that was to be committed, what was in conflict. */
  readonly conflictShare: number;
  /** To the store and its oracle, for each transaction of a customer, the market or an observer; none on an embedded store. */
  readonly requests: Readonly<Partial<Record<keyof RequestMetrics, number>>>;
  /** What each process did and used; how the observers' runs are shared out is up to the database. */
  readonly each: readonly { readonly runs: number; readonly use: ProcessUse }[];
  /** The part of all CPUs that other programs took meanwhile; undefined where the system does not tell. */
  readonly othersShare?: number | undefined;
  /** What did not add up, the first few; none where all did. */
  readonly wrong: readonly string[];
}

/** What was timed. */
export interface Timed {
  readonly seconds: number;
  readonly done: readonly Done[];
  readonly othersShare: number | undefined;
}

const kinds = ["read", "scan", "conditionalMutation", "plainMutation", "timestamp"] as const;
const maxWrong = 10;
/** Others that take more make a factor meaningless. */
const muchOfOthers = 0.1;

export function roundOf({ seconds, done, othersShare }: Timed, wrong: readonly string[]): Round {
  const sum = (of: (each: Done) => number) => done.reduce((total, each) => total + of(each), 0);
  const customers = sum((each) => each.customers);
  const runs = sum((each) => each.runs);
  const conflicts = sum((each) => each.conflicts);
  const asked = kinds.map((kind) => [kind, sum(({ requests }) => requests[kind])] as const);
  return {
    seconds,
    customers,
    runs,
    conflictShare: conflicts / Math.max(1, conflicts + sum((each) => each.commits)),
    requests: Object.fromEntries(
      asked.filter(([, count]) => count > 0).map(([kind, count]) => [kind, count / (customers + runs)]),
    ),
    each: done.map(({ runs, use }) => ({ runs, use })),
    othersShare,
    wrong: wrong.slice(0, maxWrong),
  };
}

/** Whether all that was audited adds up: what decides the exit code. */
export function isRight(rounds: readonly Round[]): boolean {
  return rounds.every(({ wrong }) => wrong.length === 0);
}

/** `one`: the rounds with one process, which come at the same times. */
export function figureOf(
  processes: number,
  rounds: readonly Round[],
  one: readonly Round[],
): ProcessesFigure {
  const seconds = (of: readonly Round[]) => of.map((round) => round.seconds);
  return {
    processes,
    transactionsPerSecond: summarize(rounds.map(rateOf)),
    factor: summarize(ratios(seconds(one), seconds(rounds))),
    rounds,
  };
}

function rateOf({ customers, runs, seconds }: Round): number {
  return (customers + runs) / seconds;
}

/** A round in words. */
export function describeRound(processes: number, round: Round): string {
  const { seconds, customers, runs, conflictShare, requests, each, othersShare, wrong } = round;
  const asked = Object.entries(requests).map(([kind, count]) => `${kind} ${count.toFixed(2)}`);
  return [
    `${named(processes)}: ${rateOf(round).toFixed(0)} transactions/s; ${customers} of customers and the market and ${runs} runs of ` +
      `observers in ${seconds.toFixed(2)} s; ${(conflictShare * 100).toFixed(1)} % of commits in conflict${describeOthers(othersShare)}`,
    ...(asked.length === 0 ? [] : [`  requests a transaction: ${asked.join(", ")}`]),
    ...each.map(({ runs, use }) => `  ${runs} runs; ${describeUse(use)}`),
    ...wrong.map((line) => `  WRONG: ${line}`),
  ].join("\n");
}

/** All rounds in words. */
export function describeFigure({
  processes,
  transactionsPerSecond,
  factor,
  rounds,
}: ProcessesFigure): string {
  const { median, low, high, count } = transactionsPerSecond;
  return (
    `${named(processes)}: ${median.toFixed(0)} transactions/s, median of ${count} (quartiles ${low.toFixed(0)} to ${high.toFixed(0)}); ` +
    `${factor.median.toFixed(2)} times one (${factor.low.toFixed(2)} to ${factor.high.toFixed(2)})${isDisturbed(rounds) ? "; others took much of the machine, so that the factor says nothing" : ""}`
  );
}

function isDisturbed(rounds: readonly Round[]): boolean {
  return summarize(rounds.map(({ othersShare = 0 }) => othersShare)).median > muchOfOthers;
}

function named(processes: number): string {
  return processes === 1 ? "1 process" : `${processes} processes`;
}
