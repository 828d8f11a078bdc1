import type { Isolation } from "percolatordb";
import type { Connection } from "../cluster/places.js";
import type { Workload } from "./operations.js";

/** The orders for the logical clients of a process. */
export interface ClientOrders {
  readonly isolation: Isolation;
  /** The clients use these in turn. */
  readonly workloads: readonly Workload[];
  /** The number of logical clients. Each has one transaction at a time. */
  readonly clients: number;
  /** The most transactions a second that these clients begin together. */
  readonly rate: number;
  /** The seed of all random choices. */
  readonly seed: string;
  /** All elements that they write are above this, and below the value for any later process. */
  readonly elementsFrom: number;
}

/** The orders for a process of `child.ts`. */
export interface ChildOrders extends ClientOrders {
  readonly connection: Connection;
  readonly commit: "auto" | "two-phase";
  /** The file for the operations that its clients begin and their outcomes. */
  readonly journal: string;
  /** The time on the system's monotonic clock when the run began, in nanoseconds. */
  readonly originNs: string;
}
