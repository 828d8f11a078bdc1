import type { Reach } from "./shared.js";

/**
 * `GET api/heat?table=&metric=writes|conflicts|hints`: counts by key range (the rows of a matrix)
 * and by time (its columns). Without a table, that with most activity.
 */
export interface HeatMap {
  readonly reach: Reach;
  readonly table: string;
  readonly metric: "writes" | "conflicts" | "hints";
  /**
   * The first row of each range, as text. The ranges are chosen so that they have about equal
   * activity.
   */
  readonly ranges: readonly string[];
  readonly startsAt: number;
  readonly bucketMs: number;
  /** Activity of each table in the last minutes, the most active first. */
  readonly totals: readonly { readonly table: string; readonly count: number }[];
  /** `counts[range][bucket]`. */
  readonly counts: readonly (readonly number[])[];
}
