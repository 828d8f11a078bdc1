import type { CellName, ObserverOverview, Pipeline, Rates, TransactionDetail } from "../api/index.js";
import type { Histogram } from "./histogram.js";

/** A transaction as the process that ran it recorded it. */
export type RecordedTransaction = Omit<TransactionDetail, "causedBy" | "caused" | "tables">;

/** A request for reports. */
export interface ReportRequest {
  /**
   * For each recorder: the newest transaction number that the asker knows. The report has only
   * later transactions.
   */
  readonly after: Readonly<Record<string, number>>;
  /** Timestamps of winners of conflicts. The report names the winners that its process knows. */
  readonly who: readonly number[];
  /**
   * If given, the report has the samples of this heat map too, and the activity of all tables. An
   * empty table has no samples.
   */
  readonly heat?: { readonly table: string; readonly metric: HeatMetric } | undefined;
}

export const heatMetrics = ["writes", "conflicts", "hints"] as const;
export type HeatMetric = (typeof heatMetrics)[number];

/** A sample of the rows that transactions of this process touched within ten seconds. */
export interface HeatSample {
  readonly startsAt: number;
  /** How many rows were touched. If `rows` has fewer, it is a random sample of them. */
  readonly total: number;
  /** Encoded rows, in base64. */
  readonly rows: readonly string[];
}

type RunRates = Pick<ObserverOverview, "runsPerSecond" | "failuresPerSecond" | "conflictsPerSecond">;

export interface ObserverReport extends RunRates {
  readonly delay: Histogram;
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

export type FlowReport = Pipeline["flows"][number];

/** What one process has seen, as plain JSON. Reports of several processes can be added. */
export interface Report extends Rates {
  /** The recorder, which is unique even if a process name is used again. */
  readonly recorder: string;
  readonly process: string;
  readonly at: number;
  /** When the recorder began to listen. */
  readonly since: number;
  /** Number of the recorder's newest transaction, for `after` in the next request. */
  readonly newest: number;
  readonly transactions: readonly RecordedTransaction[];
  readonly duration: Histogram;
  readonly observers: Readonly<Record<string, ObserverReport>>;
  readonly pairs: readonly ConflictReport[];
  readonly flows: readonly FlowReport[];
  /** The names of winners by timestamp: observer, label, or `transaction`. */
  readonly winners: Readonly<Record<string, string>>;
  readonly heat: readonly HeatSample[];
  /** Activity of each table for the metric of `heat`. Processes of older versions send none. */
  readonly heatTotals?: Readonly<Record<string, number>> | undefined;
  readonly running: number | undefined;
  readonly claims: number | undefined;
  readonly memoryBytes: number;
}

export const seriesSeconds = 300;
/** Milliseconds of the past that a report's durations, conflicts and heat cover. */
export const windowMs = 300_000;
export const heatBucketMs = 10_000;
export const heatBuckets = windowMs / heatBucketMs;
