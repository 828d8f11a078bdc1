export { type OpenWithHooksOptions, openWithHooks } from "../../database/index.js";
export type { CommitHooks, StepInfo, StepName } from "../../transaction/index.js";
export { TestClock, type TestClockOptions, type UntilOptions } from "./clock.js";
export {
  answerLost,
  diesAfter,
  diesBefore,
  type Interference,
  passes,
  repeated,
  requestLost,
  stopsAfter,
  stopsBefore,
} from "./interference.js";
export { Pause } from "./pause.js";
export { TestProcess, type TestProcessOptions } from "./process.js";
export { ProcessStore, type ProcessStoreOptions } from "./process-store.js";
export { type SeenStep, type StepFilter, StepHooks } from "./step-hooks.js";
