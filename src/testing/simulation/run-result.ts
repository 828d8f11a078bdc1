import type { SeededRandom } from "../world/index.js";
import type { SimulationCounts } from "./plan/counts.js";
import type { FaultKind } from "./plan/fault.js";
import type { Plan, SimulatedStore } from "./plan/plan.js";
import type { Reduction } from "./plan/reduction.js";
import type { Workload } from "./process/client.js";

/** The parameters of one run. */
export interface RunOptions {
  readonly seed: string;
  readonly number: number;
  readonly workload: (random: SeededRandom) => Workload;
  readonly stores: readonly SimulatedStore[];
  readonly faults: readonly FaultKind[];
  readonly length: number;
  readonly reduction: Reduction;
  /** Receives a line for each event. */
  readonly trace?: string[] | undefined;
}

/** The result of one run. */
export interface RunResult {
  /** The failure as text, or undefined if the run succeeded. */
  readonly failure: string | undefined;
  /** Identifies everything that happened, in order. */
  readonly hash: string;
  readonly counts: SimulationCounts;
  readonly plan: Plan;
  /** Names of the steps, incidents and request faults that happened. */
  readonly steps: readonly string[];
  readonly incidents: readonly string[];
  readonly faults: readonly string[];
}
