import type { Part } from "../../cell.js";

/** The state of a table, and what is missing. */
export interface TablePlan {
  readonly table: string;
  /** Its full name in Bigtable. */
  readonly path: string;
  readonly exists: boolean;
  /** Missing families: all of them if the table does not exist. */
  readonly missing: readonly Part[];
}
