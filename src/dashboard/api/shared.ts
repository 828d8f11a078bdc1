/**
 * Which processes report transactions to the views. Only the processes that run transactions know
 * what those transactions do.
 */
export type Reach =
  /** This process, or the workers that this process supervises. */
  | "here"
  /** Workers whose dashboards were named with `from`. */
  | "named"
  /** None: the views show only what the store holds. */
  | "store";

/** A cell, as text. */
export interface CellName {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

export interface ValueShown {
  readonly text: string;
  /** Size of the encoded value in bytes. */
  readonly bytes: number;
  /** Whether `text` is only the beginning of the value. `api/row` has a larger bound. */
  readonly isCut: boolean;
}

/** A count. `isBound` says that counting stopped at a bound, so there may be more. */
export interface Count {
  readonly count: number;
  readonly isBound: boolean;
}

/** Percentiles of durations; undefined if there were none. */
export interface Durations {
  readonly count: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

/** One value for each second, oldest first. The last value is that of the newest full second. */
export interface Series {
  readonly endsAt: number;
  readonly values: readonly number[];
}

/** The coordinator of a cluster. */
export interface CoordinatorShown {
  /** Undefined if no coordinator leads. */
  readonly address: string | undefined;
  readonly answers: boolean;
}
