export { clearPublished } from "./active-publisher.js";
export { buildContext } from "./context.js";
export type { CoordinatorStatus } from "./coordination.js";
export {
  type CoordinatorChoice,
  type CoordinatorOption,
  coordinatorChoice,
  tokensOf,
} from "./coordinator-choice.js";
export { Database } from "./database.js";
export { folderOf, isPostgres, type Location, openStore } from "./location.js";
export { open, openWithHooks } from "./open.js";
export type { Logger, OpenOptions, OpenWithHooksOptions } from "./options.js";
export type { DatabaseReach, ReachOptions, SignOfLife } from "./reach.js";
export type { SnapshotOptions } from "./snapshots.js";
export type { MovedSource, MoveOutcome, MoveRequest, TransactionRunner } from "./sources.js";
export type { DatabaseStatus } from "./status.js";
export type { StrayRecord } from "./stray-records.js";
