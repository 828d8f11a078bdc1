import type { Connection } from "./places.js";

/** The orders for a process of `child.ts`. */
export interface ChildOrders {
  readonly connection: Connection;
  readonly commit: "auto" | "two-phase";
  /** `HOST:PORT` of the coordinator. If absent, the process finds it by the lease. */
  readonly coordinator?: string | undefined;
  /** The file for the names of operations whose commit was confirmed. */
  readonly journal: string;
  readonly writer: string;
  /** The number of concurrent operations. 0: it writes nothing. */
  readonly writing: number;
  /** The number of concurrent runs. 0: it runs no observer. */
  readonly working: number;
  readonly lockTtlMs: number;
  /** How long Bigtable may take to answer a request. */
  readonly deadlineMs: number;
}
