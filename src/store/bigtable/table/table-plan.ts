import type { Part } from "../../cell.js";

/** What is there of a table, and what is to be made. */
export interface TablePlan {
  readonly table: string;
  /** Its full name in Bigtable. */
  readonly path: string;
  readonly exists: boolean;
  /** Families that are missing: all where the table is. */
  readonly missing: readonly Part[];
}
