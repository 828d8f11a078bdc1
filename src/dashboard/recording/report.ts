import type { CellName, Series, TransactionDetail } from "../api.js";
import type { Histogram } from "./histogram.js";

/** A transaction as the process that ran it has it. */
export type RecordedTransaction = Omit<TransactionDetail, "causedBy" | "caused">;

/** What is asked of those who record. */
export interface ReportRequest {
  /** By recorder: the newest transaction that is known of it; only later ones are told. */
  readonly after: Readonly<Record<string, number>>;
  /** Timestamps of transactions that won; whoever knows them says which they were. */
  readonly who: readonly number[];
  /** Where the rows of a heat map are wanted too. */
  readonly heat?: { readonly table: string; readonly metric: HeatMetric } | undefined;
}

export type HeatMetric = "writes" | "conflicts" | "hints";

/** Samples of the rows that were met in some seconds. */
export interface HeatSample {
  readonly startsAt: number;
  /** How many there were; the rows are some of them, all where they are as many. */
  readonly total: number;
  /** Bytes, in base64. */
  readonly rows: readonly string[];
}

export interface ObserverReport {
  readonly delay: Histogram;
  readonly runsPerSecond: number;
  readonly failuresPerSecond: number;
  readonly conflictsPerSecond: number;
}

export interface ConflictReport {
  readonly cell: CellName;
  readonly loser: string;
  /** Undefined where only the winner's timestamp is known. */
  readonly winner: string | undefined;
  readonly winnerTimestamp: number | undefined;
  readonly count: number;
  readonly lastAt: number;
}

export interface FlowReport {
  readonly observer: string;
  readonly table: string;
  readonly column: string;
  readonly does: "reads" | "writes";
  readonly perSecond: number;
}

/** What one process has seen: plain JSON, that can be added to others'. */
export interface Report {
  /** Which recorder; unlike a process, never the same again. */
  readonly recorder: string;
  readonly process: string;
  readonly at: number;
  /** Since when it listens. */
  readonly since: number;
  /** Number of its newest transaction, for `after`. */
  readonly newest: number;
  readonly transactions: readonly RecordedTransaction[];
  readonly commits: Series;
  readonly conflicts: Series;
  readonly commitsPerSecond: number;
  readonly conflictsPerSecond: number;
  readonly rollbacksPerSecond: number;
  readonly duration: Histogram;
  readonly observers: Readonly<Record<string, ObserverReport>>;
  readonly pairs: readonly ConflictReport[];
  readonly flows: readonly FlowReport[];
  /** By timestamp: observer, label, or `transaction`. */
  readonly winners: Readonly<Record<string, string>>;
  readonly heat: readonly HeatSample[];
  readonly running: number | undefined;
  readonly claims: number | undefined;
  readonly memoryBytes: number;
}

export const seriesSeconds = 300;
/** Of durations, conflicts and heat: the last minutes. */
export const windowMs = 300_000;
export const heatBucketMs = 10_000;
export const heatBuckets = windowMs / heatBucketMs;
