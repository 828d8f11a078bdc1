import type { Work } from "./pipelines.js";
import type { ProcessUse } from "./usage.js";

/** What a worker is to do, as JSON its only argument. */
export interface WorkerOptions extends Work {
  readonly location: string;
  /** Which of the workers it is, from 0. */
  readonly number: number;
  readonly processes: number;
  readonly concurrency: number;
  readonly source: string;
}

/** What the parent says to a worker: get to work, or end. */
export type Order = "go" | "end";

/** What a worker says to its parent. */
export type Answer =
  | { readonly type: "ready" | "ended" }
  | {
      readonly type: "done";
      /** Runs that committed here, or pages that were computed. */
      readonly runs: number;
      /** Runs, and transactions of theirs, that were in conflict. */
      readonly conflicts: number;
      readonly use: ProcessUse;
    };

export type Done = Extract<Answer, { type: "done" }>;
