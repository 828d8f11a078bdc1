import type { RequestMetrics } from "percolatordb";
import type { ProcessUse } from "../scaling/usage.js";

/** Orders that were placed, and those of them that observers have settled. */
export interface Progress {
  readonly orders: number;
  readonly settled: number;
}

/** What the parent says to a process. */
export type Order =
  /** Do your share of the transactions of customers with these numbers. */
  | { readonly type: "run"; readonly first: number; readonly count: number }
  /** How far the other processes are. */
  | { readonly type: "others"; readonly progress: Progress }
  /** No process places orders any more: work until nothing is due. */
  | { readonly type: "finish" }
  | { readonly type: "end" };

/** What a process says to its parent. */
export type Answer =
  | { readonly type: "ready" | "placed" | "ended" }
  | { readonly type: "progress"; readonly progress: Progress }
  | { readonly type: "finished"; readonly done: Done };

/** What one process did in one run. */
export interface Done {
  /** Transactions of customers and the market. */
  readonly customers: number;
  /** Runs of observers that committed. */
  readonly runs: number;
  readonly commits: number;
  readonly conflicts: number;
  readonly requests: RequestMetrics;
  readonly use: ProcessUse;
}
