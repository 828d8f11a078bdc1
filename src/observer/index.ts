export type { Change, ColumnChange, FamilyChange, SignalChange } from "./change.js";
export type { ClaimKey, Cluster, ClusterActivity } from "./cluster.js";
export { isBeyondBelief } from "./expiry.js";
export {
  type Acknowledgment,
  decodeAcknowledgment,
  parseRecordColumn,
  type RecordColumn,
} from "./hint/acknowledgment.js";
export type { FailureText } from "./hint/failure.js";
export { parseHintRow } from "./hint/hint.js";
export { parkedTable } from "./hint/parked-entry.js";
export { discardLoad, listLoads } from "./load/discard.js";
export { load } from "./load/load.js";
export {
  type DiscardLoadOptions,
  type LoadInfo,
  type LoadOptions,
  type LoadPart,
  type LoadProgressReport,
  type LoadRange,
  type LoadReport,
  type LoadRow,
  type LoadRows,
  loadPart,
} from "./load/options.js";
export { isObserver, type Observer, observer } from "./observer.js";
export type { ObserverOptions } from "./options.js";
export {
  type BackfillOptions,
  type BackfillProgress,
  type BackfillRange,
  type BackfillReport,
  backfill,
} from "./registry/backfill.js";
export type { ObservedCell } from "./registry/cell-of.js";
export type { RegistryCell } from "./registry/cells.js";
export { registryRows } from "./registry/cells.js";
export { type LoadRecord, loadRowsPrefix } from "./registry/load-record.js";
export { type DueCell, markDue } from "./registry/mark-due.js";
export {
  discardParked,
  listParked,
  type ParkedChange,
  type ParkedOptions,
  retryParked,
} from "./registry/parked.js";
export { listPending, type PendingChange, type PendingOptions, pendingOfRow } from "./registry/pending.js";
export type { ObserverRecord, RegisteredObserver } from "./registry/registered.js";
export type { FeedRecord } from "./registry/registered-feed.js";
export { Registry, type RegistryOptions } from "./registry/registry.js";
export { type UnregisterOptions, unregister } from "./registry/unregister.js";
export { type RegistryView, registryOf } from "./registry/view.js";
export { type HostedObservers, type SessionRecord, strayedSessions } from "./session/session-records.js";
export { Sessions, type SessionsOptions } from "./session/sessions.js";
export { decodeJson, isTime, isWhole, record } from "./stored-json.js";
export type { DrainOptions, DrainProgress, IdleOptions } from "./worker/idle.js";
export { type PoolOptions, WorkerPool, type WorkOptions } from "./worker/pool.js";
export { type StopOptions, Worker, type WorkerReadiness } from "./worker/worker.js";
