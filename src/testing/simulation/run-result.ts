import type { SeededRandom } from "../world/index.js";
import type { Workload } from "./client.js";
import type { SimulationCounts } from "./counts.js";
import type { FaultKind } from "./fault.js";
import type { Plan, SimulatedStore } from "./plan.js";
import type { Reduction } from "./reduction.js";

/** What one run is made of. */
export interface RunOptions {
  readonly seed: string;
  readonly number: number;
  readonly workload: (random: SeededRandom) => Workload;
  readonly stores: readonly SimulatedStore[];
  readonly faults: readonly FaultKind[];
  readonly length: number;
  readonly reduction: Reduction;
  /** Gets a line for each thing that happens. */
  readonly trace?: string[] | undefined;
}

/** What one run came to. */
export interface RunResult {
  /** What was wrong, in words; undefined: nothing. */
  readonly failure: string | undefined;
  /** Names everything that happened, in its order. */
  readonly hash: string;
  readonly counts: SimulationCounts;
  readonly plan: Plan;
  /** Names of steps that clients did, of incidents, and of faults of requests that happened. */
  readonly steps: readonly string[];
  readonly incidents: readonly string[];
  readonly faults: readonly string[];
}
