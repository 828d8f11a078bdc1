export { clearPublished } from "./collection/active-publisher.js";
export type { SnapshotOptions } from "./collection/snapshots.js";
export type { StrayRecord } from "./collection/stray-records.js";
export { buildContext } from "./context.js";
export type { CoordinatorStatus } from "./coordination/coordination.js";
export {
  type CoordinatorChoice,
  type CoordinatorOption,
  coordinatorChoice,
  tokensOf,
} from "./coordination/coordinator-choice.js";
export type { DatabaseReach, ReachOptions, SignOfLife } from "./coordination/reach.js";
export { Database } from "./database.js";
export { type DeclaredSchema, declared } from "./declared.js";
export { folderOf, isPostgres, type Location, openStore } from "./location.js";
export { open, openWithHooks } from "./open.js";
export type { Logger, OpenOptions, OpenWithHooksOptions } from "./options.js";
export type { MovedSource, MoveOutcome, MoveRequest, TransactionRunner } from "./sources.js";
export type { DatabaseStatus } from "./status.js";
