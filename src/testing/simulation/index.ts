export { addCounts, noCounts, type SimulationCounts } from "./plan/counts.js";
export {
  type ClockFault,
  type FaultKind,
  faultKinds,
  type NetworkFault,
  type OracleFault,
  type ProcessFault,
} from "./plan/fault.js";
export { type SimulatedStore, simulatedStores } from "./plan/plan.js";
export type { OpenAnotherOptions, SimulatedClient, SimulatedProgram, Workload } from "./process/client.js";
export type { ShortenedRun } from "./shorten.js";
export { showFailure } from "./show-failure.js";
export {
  type SimulateOptions,
  type SimulationFailure,
  type SimulationReport,
  type SimulationSettings,
  simulate,
} from "./simulate.js";
