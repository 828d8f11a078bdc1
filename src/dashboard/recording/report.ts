import type { CellName, Series, TransactionDetail } from "../api.js";
import type { Histogram } from "./histogram.js";

/** A transaction as the process that ran it recorded it. */
export type RecordedTransaction = Omit<TransactionDetail, "causedBy" | "caused">;

/** A request for reports. */
export interface ReportRequest {
  /** By recorder: the number of its newest known transaction. The report has only later ones. */
  readonly after: Readonly<Record<string, number>>;
  /** Timestamps of winners; a report names those that its process knows. */
  readonly who: readonly number[];
  /** If given, the report has the samples of this heat map too. */
  readonly heat?: { readonly table: string; readonly metric: HeatMetric } | undefined;
}

export type HeatMetric = "writes" | "conflicts" | "hints";

/** A sample of the rows met in ten seconds. */
export interface HeatSample {
  readonly startsAt: number;
  /** How many rows there were. `rows` are some of them, or all if there are as many. */
  readonly total: number;
  /** Encoded rows, in base64. */
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
  /** Undefined if only the winner's timestamp is known. */
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

/** What one process has seen, as plain JSON. Reports of several processes can be added. */
export interface Report {
  /** The recorder, which is unique even if a process name is used again. */
  readonly recorder: string;
  readonly process: string;
  readonly at: number;
  /** When the recorder began to listen. */
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
/** The window of durations, conflicts and heat. */
export const windowMs = 300_000;
export const heatBucketMs = 10_000;
export const heatBuckets = windowMs / heatBucketMs;
