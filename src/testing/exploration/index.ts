export type { ClientHandle, FeedReading, WorkTurns } from "./client-handle.js";
export {
  type ExploreOptions,
  type ExploreProgress,
  type ExploreReport,
  type ExploreViolation,
  explore,
  replay,
} from "./explorer.js";
export type { ClientEnd, CommitMode, FaultBudget, Program } from "./program.js";
