import type { ObserverOverview } from "./overview.js";
import type { Reach } from "./shared.js";

/** `GET api/pipeline`: tables and columns, and the observers between them. */
export interface Pipeline {
  readonly reach: Reach;
  readonly tables: readonly {
    readonly name: string;
    /** Whether it belongs to a recipe or to the dashboard, which keep their own records in it. */
    readonly isInternal: boolean;
    /** The table of the program for which a recipe keeps this one, if a recipe does. */
    readonly owner: string | undefined;
    /** The attached SQL table whose rows it holds, quoted, if it holds one's. */
    readonly source: string | undefined;
    readonly columns: readonly { readonly name: string; readonly kind: "column" | "family" | "signal" }[];
  }[];
  readonly observers: readonly ObserverOverview[];
  /** The columns that runs of an observer were seen to read and write while the server listened. */
  readonly flows: readonly {
    readonly observer: string;
    readonly table: string;
    readonly column: string;
    readonly does: "reads" | "writes";
    readonly perSecond: number;
  }[];
}
