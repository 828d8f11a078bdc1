import type { Isolation } from "percolatordb";
import type { Workload } from "./operations.js";

/** How a process reaches the database of a run. */
export interface Connection {
  /** A folder, the location of a Bigtable instance, or `memory:`. */
  readonly location: string;
  /** `HOST:PORT` of the Bigtable emulator, or of what stands before it. */
  readonly emulatorHost?: string | undefined;
}

/** What the logical clients of a process do. */
export interface ClientOrders {
  readonly isolation: Isolation;
  /** Each client has one of these, in turn. */
  readonly workloads: readonly Workload[];
  /** Logical clients, each with one transaction at a time. */
  readonly clients: number;
  /** Transactions a second that these clients begin, at most. */
  readonly rate: number;
  /** Seed of what is drawn. */
  readonly seed: string;
  /** All elements that they write are above this, and below that of any process that comes later. */
  readonly elementsFrom: number;
}

/** What a process of `child.ts` does. */
export interface ChildOrders extends ClientOrders {
  readonly connection: Connection;
  readonly commit: "auto" | "two-phase";
  /** File that gets what its clients begin and are told. */
  readonly journal: string;
  /** Time of the system's monotonic clock at which the run began, in nanoseconds. */
  readonly originNs: string;
}
