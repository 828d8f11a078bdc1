import type { CellName, Reach } from "./shared.js";

/** `GET api/conflicts`: most frequent first. */
export interface ConflictInsights {
  readonly reach: Reach;
  readonly sinceMs: number;
  readonly pairs: readonly {
    readonly cell: CellName;
    /** How often `loser` lost this cell to `winner`. */
    readonly count: number;
    /** Observer, label, or `transaction`. A winner that no process remembers is an `unseen transaction`. */
    readonly loser: string;
    readonly winner: string;
    readonly lastAt: number;
    readonly advice: string;
  }[];
  /** The same conflicts by column, most frequent first. Internal tables come last. */
  readonly columns: readonly ConflictColumn[];
}

/** The conflicts over a column. */
export interface ConflictColumn {
  readonly table: string;
  readonly column: string;
  readonly isInternal: boolean;
  readonly count: number;
  readonly lastAt: number;
  /** In how many rows, as far as they were counted, and the rows with most conflicts. */
  readonly rowCount: number;
  readonly rows: readonly { readonly row: string; readonly count: number }[];
  /** Who lost to whom, most frequent first. */
  readonly pairs: readonly { readonly loser: string; readonly winner: string; readonly count: number }[];
  /** What helps. Undefined if no row conflicted more than once: then nothing needs to be done. */
  readonly remedy: string | undefined;
}
